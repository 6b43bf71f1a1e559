import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { adminOf, requirePlan } from '../parse.ts'
import { revisePolicy } from './revise-policy.ts'

/** Resumes a paused policy. Resuming it again is not an error. */
export function resumePolicy(dependencies: {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['resumePolicy'] {
  return async (request, context) => {
    await requirePlan(dependencies.organizations, adminOf(context, request.organizationId).organizationId)
    return revisePolicy(dependencies, request, context, (policy) => ({ ...policy, enabled: true }))
  }
}
