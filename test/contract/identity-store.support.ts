import { afterEach, beforeEach, describe, test } from 'node:test'
import type { AuditEvent, By, Changed } from '#services/identity/domain/audit.ts'
import type { IssuerSettings } from '#services/identity/domain/issuer.ts'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { Bootstrap, NewApiKey } from '#services/identity/ports/identity-store.ts'
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
  return { actor: { kind: 'api-key', keyId: 'key_admin' }, time }
}

export const byOperator: By = { actor: { kind: 'operator' }, time: 5_000 }

export function newKey(more: Partial<NewApiKey> = {}): NewApiKey {
  const base = { kind: 'workspace', name: 'a key', prefix: 'sk-portico-abcd', timeCreated: 1000 } as const
  return { id: randomId('key'), hash: randomText(64), ...base, timeExpires: undefined, ...more }
}

/** Makes an organization with a workspace and a management key. */
export async function makeOrganization(
  { organizations }: Stores,
  more: Partial<NewOrganization> = {},
): Promise<{ organizationId: string; workspaceId: string; keyId: string }> {
  const [organizationId, workspaceId, key] = [randomId('org'), randomId('wrk'), newKey({ kind: 'management' })]
  const workspace = { id: workspaceId, name: 'a workspace' }
  const whole = { id: organizationId, name: 'an organization', plan: 'business', workspace, key, ...more } as const
  await organizations.createOrganization(whole, byOperator)
  return { organizationId, workspaceId, keyId: key.id }
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
  const organization = { id: randomId('org'), name: 'an organization' }
  return { organization, workspace: { id: randomId('wrk'), name: 'a workspace' }, timeCreated: 1000, keys }
}
