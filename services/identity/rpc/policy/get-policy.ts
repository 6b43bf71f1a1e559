import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf } from '../parse.ts'
import { parsePolicyId } from './parse.ts'
import { shownPolicy } from './shown-policies.ts'

export function getPolicy(dependencies: {
  readonly federation: FederationStore
}): ServiceImpl<typeof FederationService>['getPolicy'] {
  const { federation } = dependencies
  return async (request, context) => {
    const { organizationId } = adminOf(context, request.organizationId)
    const policyId = parsePolicyId(request.policyId)
    const policy = await federation.getPolicy(organizationId, policyId)
    if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
    return { policy: await shownPolicy(federation, policy) }
  }
}
