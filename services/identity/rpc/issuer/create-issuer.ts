import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { MAX_ISSUERS } from '#services/identity/domain/issuer.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf, byOf, requirePlan } from '../parse.ts'
import { issuerToProto } from './convert.ts'
import { parseIssuerSettings } from './parse.ts'

/** Creates an issuer; its keys are fetched when one of its tokens is exchanged. */
export function createIssuer(dependencies: {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly issuerKeys: IssuerKeys
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['createIssuer'] {
  const { federation, organizations, issuerKeys, clock } = dependencies
  return async ({ organizationId, settings }, context) => {
    const admin = adminOf(context, organizationId)
    const parsed = parseIssuerSettings(settings, issuerKeys)
    await requirePlan(organizations, organizationId)
    const decide = (count: number) => {
      if (count >= MAX_ISSUERS) throw new Rejection('TOO_MANY_ISSUERS', { most: `${MAX_ISSUERS}` })
      return parsed
    }
    const issuer = await federation.createIssuer(organizationId, randomId('iss'), decide, byOf(admin, clock))
    return { issuer: issuerToProto({ issuer, health: undefined }) }
  }
}
