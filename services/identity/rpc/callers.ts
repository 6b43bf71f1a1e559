import type { HandlerContext } from '@connectrpc/connect'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Principal, principalOf } from '#shared/rpc/call-context.ts'
import type { By } from '../domain/audit.ts'
import { hasFederation } from '../domain/organization.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'

/** The principal of a call that requires a management key or the local operator. */
export function managerOf(context: Pick<HandlerContext, 'values'>): Principal {
  const principal = principalOf(context)
  if (principal.kind === 'management' || principal.kind === 'local-operator') return principal
  throw new Rejection('MANAGEMENT_KEY_REQUIRED')
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

/** Who makes a change, and when. */
export function byOf({ apiKeyId }: Principal, clock: Clock): By {
  return { actorKeyId: apiKeyId === '' ? undefined : apiKeyId, time: clock.now() }
}
