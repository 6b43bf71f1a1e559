import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf, byOf } from '../parse.ts'
import { parsePolicyId } from './parse.ts'

/** Deletes a policy, so that no further exchange by it is accepted. Access tokens that were issued remain valid. */
export function deletePolicy(dependencies: {
  readonly federation: FederationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['deletePolicy'] {
  const { federation, clock } = dependencies
  return async (request, context) => {
    const admin = adminOf(context, request.organizationId)
    const policyId = parsePolicyId(request.policyId)
    const found = await federation.deletePolicy(admin.organizationId, policyId, byOf(admin, clock))
    if (!found) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
    return {}
  }
}
