import { afterEach, beforeEach, describe, test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type AuditEntry_Change as Change,
  type IssuerSettings,
  IssuerSettingsSchema,
  OrganizationSchema,
  Organization_Plan as Plan,
  type PolicySettings,
  PolicySettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import { type ApiKey, ApiKeySchema, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { NO_TERMS } from '#services/identity/domain/api-key.ts'
import type { By } from '#services/identity/domain/audit.ts'
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
  return { ...create(ApiKeySchema, { kind: Principal_Kind.WORKSPACE, name: 'a key', ...made, ...times }), ...more }
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
    key = newKey({ kind: Principal_Kind.MANAGEMENT }),
  }: { plan?: Plan; name?: string; key?: ApiKey } = {},
): Promise<{ organizationId: string; workspaceId: string; keyId: string }> {
  const created = newOrganization(plan, name)
  const workspaceId = created.workspace.id
  const { organizationId } = await organizations.createOrganization(created, { ...key, workspaceId }, byOperator)
  return { organizationId, workspaceId, keyId: key.keyId }
}

export function issuerSettings(more: Partial<IssuerSettings> = {}): IssuerSettings {
  const keySource = { case: 'discovery', value: {} } as const
  const base = { name: 'an issuer', issuerUrl: 'https://issuer.example', keySource }
  return { ...create(IssuerSettingsSchema, base), ...more }
}

export function policySettings(more: MessageInitShape<typeof PolicySettingsSchema> = {}): PolicySettings {
  const base = { name: 'a policy', issuerId: 'iss_1', subject: 'repo:a/b', audience: 'portico', enabled: true }
  const { $typeName: _, ...members } = more
  return create(PolicySettingsSchema, { ...base, workspaceId: 'wrk_1', keyId: 'key_1', ...members })
}

/** The changes in an organization's audit log, oldest first. */
export async function changesOf({ auditLog }: Stores, organizationId: string): Promise<Change[]> {
  const { items } = await auditLog.list(organizationId, { kind: Kind.CHANGE }, undefined, 1000)
  return items.flatMap(({ event }) => (event.case === 'change' ? [event.value] : [])).reverse()
}

export function newBootstrap(...keys: Bootstrap['keys']): Bootstrap {
  return { ...newOrganization(Plan.ENTERPRISE), keys }
}
