import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { check, MAX_TIME } from '#shared/rpc/parse.ts'
import type { ApiKeyKind } from '../domain/api-key.ts'
import type { By } from '../domain/audit.ts'
import { hasFederation } from '../domain/organization.ts'
import type { IdentityStore, OwnedApiKey } from '../ports/identity-store.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'

/** The principal of a call that requires a management key or the local operator. */
export function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
}

/**
 * Whether a principal manages keys of a kind: management keys are only managed by the operator, and do not exist for
 * others.
 */
export function manages({ kind }: Principal, ofKind: ApiKeyKind): boolean {
  return ofKind !== 'management' || kind === 'local-operator'
}

/** A key that the caller manages, by its identifier. Its kind never changes. Rejects with API_KEY_NOT_FOUND. */
export async function requireManagedKey(
  store: Pick<IdentityStore, 'getKey'>,
  manager: Principal,
  keyId: string,
): Promise<OwnedApiKey> {
  const found = await store.getKey(manager.workspaceId, parseKeyId(keyId))
  if (found !== undefined && manages(manager, found.key.kind)) return found
  throw new Rejection('API_KEY_NOT_FOUND', { key_id: keyId })
}

/** The principal of a call that requires the operator, at the command line. */
export function operatorOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'local-operator') return principal
  throw new Rejection('OPERATOR_REQUIRED')
}

/** The principal of a call that administers an organization, which must be the caller's own. */
export function adminOf(context: Pick<HandlerContext, 'values'>, organizationId: string): Principal {
  const admin = managerOf(context)
  if (admin.organizationId === organizationId) return admin
  throw new Rejection('ORGANIZATION_NOT_FOUND', { organization_id: organizationId })
}

/** Rejects with PLAN_REQUIRED unless the organization's plan includes federation. */
export async function requirePlan(
  organizations: Pick<OrganizationStore, 'getOrganization'>,
  organizationId: string,
): Promise<void> {
  const organization = await organizations.getOrganization(organizationId)
  if (organization === undefined) throw new Rejection('ORGANIZATION_NOT_FOUND', { organization_id: organizationId })
  if (!hasFederation(organization.plan)) throw new Rejection('PLAN_REQUIRED')
}

/** When a key expires, in milliseconds since the epoch; undefined: never. */
export function parseExpiry(time: Timestamp | undefined, now: number): number | undefined {
  const expires = time && timestampMs(time)
  check(expires === undefined || (expires > now && expires <= MAX_TIME), 'expire_time', 'must be in the future')
  return expires
}

/** Checks a key's identifier. */
export function parseKeyId(keyId: string): string {
  check(/^key_[0-9A-Za-z]{1,60}$/.test(keyId), 'key_id', 'must be an id of the form key_…')
  return keyId
}

/** Who makes a change, and when. */
export function byOf({ apiKeyId }: Principal, clock: Clock): By {
  return { actor: apiKeyId === '' ? { kind: 'operator' } : { kind: 'api-key', keyId: apiKeyId }, time: clock.now() }
}
