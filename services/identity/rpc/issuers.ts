import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type IssuerSchema,
  type IssuerSettings as IssuerSettingsMessage,
  IssuerSettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { type FederationService, ListIssuersRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { type Issuer, type IssuerSettings, type KeyHealth, type KeySource, MAX_ISSUERS } from '../domain/issuer.ts'
import type { SharedIssuers } from '../domain/shared-issuer.ts'
import type { Conditions } from '../ports/conditions.ts'
import type { FederationStore, ListedIssuer } from '../ports/federation-store.ts'
import type { IssuerKeys } from '../ports/issuer-keys.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'
import { adminOf, byOf, requirePlan } from './callers.ts'
import { unwisePolicies } from './shared-issuers.ts'
import { requireMask, withFields } from './update-mask.ts'

const MAX_JWKS_BYTES = 262_144
const FIELDS = IssuerSettingsSchema.fields.map(({ name }) => name)
const checkSettings = checkLimits(IssuerSettingsSchema)
const parseSlice = sliceParser(ListIssuersRequestSchema)

/** The issuers of organizations. */
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
      const parsed = parseSettings(settings, issuerKeys)
      await requirePlan(organizations, organizationId)
      const decide = (count: number) => {
        if (count >= MAX_ISSUERS) throw new Rejection('TOO_MANY_ISSUERS', { most: `${MAX_ISSUERS}` })
        return parsed
      }
      const issuer = await federation.createIssuer(organizationId, randomId('iss'), decide, byOf(admin, clock))
      return { issuer: issuerToProto({ issuer, health: undefined }) }
    },

    async getIssuer(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const issuerId = parseId(request.issuerId)
      const found = await federation.getIssuer(organizationId, issuerId)
      if (found === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
      return { issuer: issuerToProto(found) }
    },

    async listIssuers(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const { items, total } = await federation.listIssuers(organizationId, parseSlice(request))
      return { issuers: items.map(issuerToProto), totalSize: total }
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
      const decide = (issuer: Issuer) => {
        const changed = withFields(IssuerSettingsSchema, issuerSettingsToProto(issuer), settings, paths)
        const parsed = parseSettings(changed, issuerKeys)
        const isMoved = parsed.url !== issuer.url
        warnings = isMoved ? unwise.map(({ policyId, warning }) => `policy ${policyId}: ${warning}`) : []
        if (sharedIssuers === 'refuse' && warnings[0] !== undefined) {
          throw invalid('issuer_url', `must not be a shared issuer while a policy names no subject: ${warnings[0]}`)
        }
        return parsed
      }
      const issuer = await federation.reviseIssuer(organizationId, issuerId, decide, byOf(admin, clock))
      if (issuer === undefined) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
      // A change that changed nothing also preserves the health.
      const found = await federation.getIssuer(organizationId, issuerId)
      const health = found?.issuer.revision === issuer.revision ? found.health : undefined
      return { issuer: issuerToProto({ issuer, health }), warnings }
    },

    async deleteIssuer(request, context) {
      const admin = adminOf(context, request.organizationId)
      const { organizationId } = admin
      const issuerId = parseId(request.issuerId)
      const isDeleted = await federation.deleteIssuer(organizationId, issuerId, byOf(admin, clock))
      if (!isDeleted) throw new Rejection('ISSUER_NOT_FOUND', { issuer_id: issuerId })
      issuerKeys.forget({ organizationId, id: issuerId })
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

/** Rejects with REQUEST_INVALID if the settings cannot be saved; nothing is fetched. */
function parseSettings(message: IssuerSettingsMessage | undefined, issuerKeys: IssuerKeys): IssuerSettings {
  check(message !== undefined, 'settings', 'must be set')
  checkSettings(message)
  const settings = issuerSettingsFromProto(message)
  const { keySource } = settings
  const isShort = keySource.kind !== 'inline' || Buffer.byteLength(keySource.jwks) <= MAX_JWKS_BYTES
  check(isShort, 'jwks', `must have at most ${MAX_JWKS_BYTES} bytes`)
  const found = issuerKeys.problemOf(settings)
  if (found !== undefined) throw invalid(found.field, found.problem)
  return settings
}

function parseId(issuerId: string): string {
  check(/^iss_[0-9A-Za-z]{1,60}$/.test(issuerId), 'issuer_id', 'must be an id of the form iss_…')
  return issuerId
}

function issuerToProto({ issuer, health }: ListedIssuer): MessageInitShape<typeof IssuerSchema> {
  const isFetched = issuer.keySource.kind !== 'inline'
  return {
    issuerId: issuer.id,
    settings: issuerSettingsToProto(issuer),
    revision: BigInt(issuer.revision),
    createTime: timestampFromMs(issuer.timeCreated),
    updateTime: timestampFromMs(issuer.timeUpdated),
    keyHealth: health !== undefined && isFetched ? healthToProto(health) : undefined,
  }
}

function issuerSettingsToProto(settings: IssuerSettings): IssuerSettingsMessage {
  const { name, url, keySource, singleUse, maxAgeSeconds } = settings
  return create(IssuerSettingsSchema, {
    name,
    issuerUrl: url,
    singleUse,
    keySource: keySourceToProto(keySource),
    maxAgeSeconds,
  })
}

/** Converts the settings in a message, whether or not they may be saved. */
function issuerSettingsFromProto(message: IssuerSettingsMessage): IssuerSettings {
  const { name, issuerUrl: url, keySource, singleUse, maxAgeSeconds } = message
  return { name, url, keySource: keySourceFromProto(keySource), singleUse, maxAgeSeconds }
}

function keySourceToProto(source: KeySource): NonNullable<MessageInitShape<typeof IssuerSettingsSchema>['keySource']> {
  if (source.kind === 'discovery') return { case: 'discovery', value: {} }
  return source.kind === 'url' ? { case: 'jwksUrl', value: source.url } : { case: 'jwks', value: source.jwks }
}

function keySourceFromProto(source: IssuerSettingsMessage['keySource']): KeySource {
  if (source.case === 'jwksUrl') return { kind: 'url', url: source.value }
  return source.case === 'jwks' ? { kind: 'inline', jwks: source.value } : { kind: 'discovery' }
}

function healthToProto({ timeSucceeded, timeFailed, failure, timeNextTry }: KeyHealth) {
  const toTime = (time: number | undefined) => (time === undefined ? undefined : timestampFromMs(time))
  return {
    lastSuccessTime: toTime(timeSucceeded),
    lastFailureTime: toTime(timeFailed),
    lastFailure: failure,
    nextTryTime: toTime(timeNextTry),
  }
}
