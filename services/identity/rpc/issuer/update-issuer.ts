import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf, byOf, requirePlan } from '../parse.ts'
import { withFields } from '../update-mask.ts'
import { issuerSettingsToProto, issuerToProto } from './convert.ts'
import { parseIssuerId, parseIssuerSettings } from './parse.ts'

const FIELDS = IssuerSettingsSchema.fields.map(({ name }) => name)

/** Changes settings of an issuer. Where its keys come from, and all else, counts from the next exchange on. */
export function updateIssuer(dependencies: {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly issuerKeys: IssuerKeys
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['updateIssuer'] {
  const { federation, organizations, issuerKeys, clock } = dependencies
  return async (request, context) => {
    const admin = adminOf(context, request.organizationId)
    const issuerId = parseIssuerId(request.issuerId)
    await requirePlan(organizations, admin.organizationId)
    const { settings = create(IssuerSettingsSchema), updateMask } = request
    const decide = (issuer: Issuer) => {
      const current = issuerSettingsToProto(issuer)
      const changed = withFields(IssuerSettingsSchema, current, settings, updateMask?.paths ?? [], FIELDS)
      return parseIssuerSettings(changed, issuerKeys)
    }
    const issuer = await federation.reviseIssuer(admin.organizationId, issuerId, decide, byOf(admin, clock))
    if (issuer === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
    return { issuer: issuerToProto({ issuer, health: undefined }) }
  }
}
