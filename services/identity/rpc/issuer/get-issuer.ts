import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf } from '../parse.ts'
import { issuerToProto } from './convert.ts'
import { parseIssuerId } from './parse.ts'

/** Returns an issuer with the health of its keys. */
export function getIssuer(dependencies: {
  readonly federation: FederationStore
}): ServiceImpl<typeof FederationService>['getIssuer'] {
  const { federation } = dependencies
  return async (request, context) => {
    const { organizationId } = adminOf(context, request.organizationId)
    const issuerId = parseIssuerId(request.issuerId)
    const found = await federation.getIssuer(organizationId, issuerId)
    if (found === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
    return { issuer: issuerToProto(found) }
  }
}
