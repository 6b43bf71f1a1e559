import type { ServiceImpl } from '@connectrpc/connect'
import { type FederationService, ListIssuersRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import { sliceParser } from '#shared/page-size.ts'
import { adminOf } from '../parse.ts'
import { issuerToProto } from './convert.ts'

const parseSlice = sliceParser(ListIssuersRequestSchema)

/** Lists the issuers of an organization, oldest first. */
export function listIssuers(dependencies: {
  readonly federation: FederationStore
}): ServiceImpl<typeof FederationService>['listIssuers'] {
  const { federation } = dependencies
  return async (request, context) => {
    const { organizationId } = adminOf(context, request.organizationId)
    const { items, total } = await federation.listIssuers(organizationId, parseSlice(request))
    return { issuers: items.map(issuerToProto), totalSize: total }
  }
}
