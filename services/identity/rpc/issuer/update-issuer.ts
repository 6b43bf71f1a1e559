import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Issuer } from '#services/identity/domain/issuer.ts'
import type { SharedIssuers } from '#services/identity/domain/shared-issuer.ts'
import type { Conditions } from '#services/identity/ports/conditions.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { invalid } from '#shared/rpc/parse.ts'
import { adminOf, byOf, requirePlan } from '../parse.ts'
import { unwisePolicies } from '../policy/shared-issuers.ts'
import { requireMask, withFields } from '../update-mask.ts'
import { issuerSettingsToProto, issuerToProto } from './convert.ts'
import { parseIssuerId, parseIssuerSettings } from './parse.ts'

const FIELDS = IssuerSettingsSchema.fields.map(({ name }) => name)

/** Changes settings of an issuer, which apply from the next exchange on. */
export function updateIssuer(dependencies: {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly issuerKeys: IssuerKeys
  readonly conditions: Conditions
  readonly sharedIssuers: SharedIssuers
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['updateIssuer'] {
  const { federation, organizations, issuerKeys, sharedIssuers, clock } = dependencies
  return async (request, context) => {
    const admin = adminOf(context, request.organizationId)
    const issuerId = parseIssuerId(request.issuerId)
    await requirePlan(organizations, admin.organizationId)
    const { settings = create(IssuerSettingsSchema), updateMask } = request
    const paths = requireMask(updateMask, FIELDS)
    const unwise = paths.includes('issuer_url')
      ? await unwisePolicies(dependencies, { organizationId: admin.organizationId, issuerId }, settings.issuerUrl)
      : []
    let warnings: string[] = []
    const decide = (issuer: Issuer) => {
      const changed = withFields(IssuerSettingsSchema, issuerSettingsToProto(issuer), settings, paths)
      const parsed = parseIssuerSettings(changed, issuerKeys)
      const isMoved = parsed.url !== issuer.url
      warnings = isMoved ? unwise.map(({ policyId, warning }) => `policy ${policyId}: ${warning}`) : []
      if (sharedIssuers === 'refuse' && warnings[0] !== undefined) {
        throw invalid('issuer_url', `must not be a shared issuer while a policy names no subject: ${warnings[0]}`)
      }
      return parsed
    }
    const issuer = await federation.reviseIssuer(admin.organizationId, issuerId, decide, byOf(admin, clock))
    if (issuer === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
    // A change that changed nothing also preserves the health.
    const found = await federation.getIssuer(admin.organizationId, issuerId)
    const health = found?.issuer.revision === issuer.revision ? found.health : undefined
    return { issuer: issuerToProto({ issuer, health }), warnings }
  }
}
