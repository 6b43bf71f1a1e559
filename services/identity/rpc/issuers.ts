import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type IssuerSettings, IssuerSettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import { type FederationService, ListIssuersRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { MAX_ISSUERS } from '../domain/issuer.ts'
import type { SharedIssuers } from '../domain/shared-issuer.ts'
import type { Conditions } from '../ports/conditions.ts'
import type { FederationStore } from '../ports/federation-store.ts'
import type { IssuerKeys } from '../ports/issuer-keys.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'
import { adminOf, byOf, requirePlan } from './callers.ts'
import { unwisePolicies } from './shared-issuers.ts'
import { requireMask, withFields } from './update-mask.ts'

const MAX_JWKS_BYTES = 262_144
const FIELDS = IssuerSettingsSchema.fields.map(({ name }) => name)
const checkSettingsLimits = checkLimits(IssuerSettingsSchema)
const parseSlice = sliceParser(ListIssuersRequestSchema)

export function issuers(dependencies: {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly issuerKeys: IssuerKeys
  readonly conditions: Conditions
  readonly sharedIssuers: SharedIssuers
  readonly clock: Clock
}) {
  const { federation, organizations, issuerKeys, sharedIssuers, clock } = dependencies
  return {
    /** Its keys are fetched when one of its tokens is exchanged. */
    async createIssuer({ organizationId, settings }, context) {
      const admin = adminOf(context, organizationId)
      check(settings !== undefined, 'settings', 'must be set')
      checkSettings(settings, issuerKeys)
      await requirePlan(organizations, organizationId)
      const decide = (count: number) => {
        if (count >= MAX_ISSUERS) throw new Rejection('TOO_MANY_ISSUERS', { most: `${MAX_ISSUERS}` })
        return settings
      }
      return { issuer: await federation.createIssuer(organizationId, randomId('iss'), decide, byOf(admin, clock)) }
    },

    async getIssuer(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const issuerId = parseId(request.issuerId)
      const issuer = await federation.getIssuer(organizationId, issuerId)
      if (issuer === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
      return { issuer }
    },

    async listIssuers(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const { items, total } = await federation.listIssuers(organizationId, parseSlice(request))
      return { issuers: items, totalSize: total }
    },

    async updateIssuer(request, context) {
      const admin = adminOf(context, request.organizationId)
      const { organizationId } = admin
      const issuerId = parseId(request.issuerId)
      await requirePlan(organizations, organizationId)
      const { settings = create(IssuerSettingsSchema), updateMask } = request
      const paths = requireMask(updateMask, FIELDS)
      const unwise = paths.includes('issuer_url')
        ? await unwisePolicies(dependencies, { organizationId, issuerId }, settings.issuerUrl)
        : []
      let warnings: string[] = []
      const decide = (before: IssuerSettings) => {
        const changed = withFields(IssuerSettingsSchema, before, settings, paths)
        checkSettings(changed, issuerKeys)
        const isMoved = changed.issuerUrl !== before.issuerUrl
        warnings = isMoved ? unwise.map(({ policyId, warning }) => `policy ${policyId}: ${warning}`) : []
        if (sharedIssuers === 'refuse' && warnings[0] !== undefined) {
          throw invalid('issuer_url', `must not be a shared issuer while a policy names no subject: ${warnings[0]}`)
        }
        return changed
      }
      const issuer = await federation.reviseIssuer(organizationId, issuerId, decide, byOf(admin, clock))
      if (issuer === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
      return { issuer, warnings }
    },

    async deleteIssuer(request, context) {
      const admin = adminOf(context, request.organizationId)
      const { organizationId } = admin
      const issuerId = parseId(request.issuerId)
      const isDeleted = await federation.deleteIssuer(organizationId, issuerId, byOf(admin, clock))
      if (!isDeleted) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
      issuerKeys.forget({ organizationId, issuerId })
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

/** Rejects with REQUEST_INVALID if the settings cannot be saved; nothing is fetched. */
function checkSettings(settings: IssuerSettings, issuerKeys: IssuerKeys): void {
  checkSettingsLimits(settings)
  const { keySource } = settings
  const isShort = keySource.case !== 'jwks' || Buffer.byteLength(keySource.value) <= MAX_JWKS_BYTES
  check(isShort, 'jwks', `must have at most ${MAX_JWKS_BYTES} bytes`)
  const problem = issuerKeys.problemOf(settings)
  if (problem !== undefined) throw invalid(problem.field, problem.problem)
}

function parseId(issuerId: string): string {
  check(/^iss_[0-9A-Za-z]{1,60}$/.test(issuerId), 'issuer_id', 'must be an id of the form iss_…')
  return issuerId
}
