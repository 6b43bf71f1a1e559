import { afterEach, beforeEach, describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { OrganizationSchema, Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { type ApiKey, ApiKeySchema, Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { NO_TERMS } from '#services/identity/domain/api-key.ts'
import type { AuditEvent, By, Changed } from '#services/identity/domain/audit.ts'
import type { IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { Bootstrap } from '#services/identity/ports/identity-store.ts'
import type { NewOrganization } from '#services/identity/ports/organization-store.ts'
import type { Stores } from '#services/identity/ports/stores.ts'
import type { Clock } from '#shared/clock.ts'
import { randomId, randomText } from '#shared/ids.ts'

/** One place that several stores can have open at once, as several processes would. */
export interface Place extends AsyncDisposable {
  open(clock: Clock): Promise<Stores>
}

/** Makes an empty place. */
export type MakePlace = () => Promise<Place>

export interface SuiteOptions {
  readonly skip: string | false
}

/** What a test of a suite works with: the stores of two processes in one place, and a clock that both use. */
export interface Opened {
  readonly store: Stores
  readonly other: Stores
  readonly clock: Clock & { time: number }
}

/** Declares a suite; `rule` declares a test of it. */
export function suiteOf(
  title: string,
  make: MakePlace,
  options: SuiteOptions,
  declare: (rule: (name: string, run: (opened: Opened) => Promise<void>) => void) => void,
): void {
  describe(title, options, () => {
    let opened: Opened
    let resources: AsyncDisposableStack
    beforeEach(async () => {
      resources = new AsyncDisposableStack()
      const place = resources.use(await make())
      const clock = { time: 1_000, now: () => clock.time, monotonic: () => clock.time }
      const [store, other] = [resources.use(await place.open(clock)), resources.use(await place.open(clock))]
      opened = { store, other, clock }
    })
    afterEach(() => resources.disposeAsync())
    declare((name, run) => test(name, () => run(opened)))
  })
}

/** Who makes the changes in the suites. */
export function byAdmin(time = 5_000): By {
  return { actorKeyId: 'key_admin', time }
}

export const byOperator: By = { time: 5_000 }

export function newKey(more: Partial<ApiKey> = {}): ApiKey {
  const made = { keyId: randomId('key'), hash: randomText(64), prefix: 'sk-portico-abcd', terms: NO_TERMS }
  const times = { createTime: 1000, updateTime: 1000 }
  return { ...create(ApiKeySchema, { kind: Kind.WORKSPACE, name: 'a key', ...made, ...times }), ...more }
}

function newOrganization(plan: Plan, name = 'an organization'): NewOrganization {
  const organization = create(OrganizationSchema, { organizationId: randomId('org'), name, plan, createTime: 1000 })
  return { organization, workspace: { id: randomId('wrk'), name: 'a workspace' } }
}

/** Makes an organization with a workspace and a management key. */
export async function makeOrganization(
  { organizations }: Stores,
  {
    plan = Plan.BUSINESS,
    name,
    key = newKey({ kind: Kind.MANAGEMENT }),
  }: { plan?: Plan; name?: string; key?: ApiKey } = {},
): Promise<{ organizationId: string; workspaceId: string; keyId: string }> {
  const created = newOrganization(plan, name)
  const workspaceId = created.workspace.id
  const { organizationId } = await organizations.createOrganization(created, { ...key, workspaceId }, byOperator)
  return { organizationId, workspaceId, keyId: key.keyId }
}

export function issuerSettings(more: Partial<IssuerSettings> = {}): IssuerSettings {
  const url = 'https://issuer.example'
  const keySource = { kind: 'discovery' } as const
  return { name: 'an issuer', url, keySource, singleUse: false, maxAgeSeconds: undefined, ...more }
}

export function policySettings(more: Partial<PolicySettings> = {}): PolicySettings {
  return {
    name: 'a policy',
    issuerId: 'iss_1',
    subject: 'repo:a/b',
    audience: 'portico',
    condition: undefined,

    target: { workspaceId: 'wrk_1', keyId: 'key_1' },
    enabled: true,
    checks: { scope: undefined, tokenType: undefined },
    ...more,
  }
}

/** The changes in an organization's audit log, oldest first. */
export async function changesOf({ auditLog }: Stores, organizationId: string): Promise<Changed[]> {
  const { items } = await auditLog.list(organizationId, { kind: 'changed' }, undefined, 1000)
  const isChange = (event: AuditEvent): event is Changed => event.type === 'changed'
  return items
    .map(({ entry }) => entry.event)
    .filter(isChange)
    .reverse()
}

export function newBootstrap(...keys: Bootstrap['keys']): Bootstrap {
  return { ...newOrganization(Plan.ENTERPRISE), keys }
}
