import type { ServiceImpl } from '@connectrpc/connect'
import { type FederationService, ListPoliciesRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import { sliceParser } from '#shared/page-size.ts'
import { adminOf } from '../parse.ts'
import { shownPolicies } from './shown-policies.ts'

const parseSlice = sliceParser(ListPoliciesRequestSchema)

/** Lists the policies of an organization, oldest first. */
export function listPolicies(dependencies: {
  readonly federation: FederationStore
}): ServiceImpl<typeof FederationService>['listPolicies'] {
  const { federation } = dependencies
  return async (request, context) => {
    const { organizationId } = adminOf(context, request.organizationId)
    const { items, total } = await federation.listPolicies(organizationId, parseSlice(request), request.issuerId)
    return { policies: await shownPolicies(federation, organizationId, items), totalSize: total }
  }
}
