import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { byOf, operatorOf } from '../parse.ts'
import { organizationToProto } from './convert.ts'
import { parsePlan } from './parse.ts'

/** Changes the plan of an organization; with a plan without federation, exchanges are refused from the next one on. */
export function updateOrganizationPlan(dependencies: {
  readonly organizations: OrganizationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['updateOrganizationPlan'] {
  const { organizations, clock } = dependencies
  return async ({ organizationId, plan }, context) => {
    const by = byOf(operatorOf(context), clock)
    const organization = await organizations.setPlan(organizationId, parsePlan(plan), by)
    if (organization === undefined) throw new Rejection('ORGANIZATION_NOT_FOUND', { organization_id: organizationId })
    return { organization: organizationToProto(organization) }
  }
}
