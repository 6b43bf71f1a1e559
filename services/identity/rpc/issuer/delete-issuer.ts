import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf, byOf } from '../parse.ts'
import { parseIssuerId } from './parse.ts'

/**
 * Deletes an issuer; its policies remain, and refuse from the next exchange on. Access tokens that were issued remain
 * valid.
 */
export function deleteIssuer(dependencies: {
  readonly federation: FederationStore
  readonly issuerKeys: Pick<IssuerKeys, 'forget'>
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['deleteIssuer'] {
  const { federation, issuerKeys, clock } = dependencies
  return async (request, context) => {
    const admin = adminOf(context, request.organizationId)
    const issuerId = parseIssuerId(request.issuerId)
    const found = await federation.deleteIssuer(admin.organizationId, issuerId, byOf(admin, clock))
    if (!found) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
    issuerKeys.forget({ organizationId: admin.organizationId, id: issuerId })
    return {}
  }
}
