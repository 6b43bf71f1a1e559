import { randomUUID } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  ClaimChecksSchema,
  type PolicySchema,
  type PolicySettings as PolicySettingsMessage,
  PolicySettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { type FederationService, ListPoliciesRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { type ClaimChecks, MAX_POLICIES, type Policy, type PolicySettings } from '../domain/policy.ts'
import type { Conditions } from '../ports/conditions.ts'
import type { FederationStore } from '../ports/federation-store.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'
import { adminOf, byOf, requirePlan } from './callers.ts'
import { type IssuerGuard, issuerUrlOf, warningsOf } from './shared-issuers.ts'
import { requireMask, withFields } from './update-mask.ts'

/** Checks are added and removed, and policies paused and resumed, by separate RPCs. */
const FIELDS = ['name', 'issuer_id', 'subject', 'audience', 'condition', 'key_id']
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Names of checks in the proto → in the domain. */
const CHECKS: ReadonlyMap<string, keyof ClaimChecks> = new Map([
  ['scope', 'scope'],
  ['token_type', 'tokenType'],
])
const checkSettings = checkLimits(PolicySettingsSchema)
const checkChecks = checkLimits(ClaimChecksSchema)
const parseSlice = sliceParser(ListPoliciesRequestSchema)

interface Dependencies extends IssuerGuard {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly store: IdentityStore
  readonly clock: Clock
}

/** The policies of organizations. Changes apply from the next exchange on. */
export function policies(dependencies: Dependencies) {
  const { federation, organizations, store, conditions, clock } = dependencies

  /** Whether issuers were deleted is shown with the policies. */
  async function shown(organizationId: string, policies: readonly Policy[]) {
    const issuerIds = policies.map(({ issuerId }) => issuerId)
    const present = await federation.presentIssuers(organizationId, issuerIds)
    return policies.map((policy) => policyToProto(policy, !present.has(policy.issuerId)))
  }

  async function revise(
    request: { readonly organizationId: string; readonly policyId: string },
    context: Pick<HandlerContext, 'values'>,
    decide: (policy: Policy) => PolicySettings,
  ) {
    const admin = adminOf(context, request.organizationId)
    const { organizationId } = admin
    const policyId = parsePolicyId(request.policyId)
    const policy = await federation.revisePolicy(organizationId, policyId, decide, byOf(admin, clock))
    if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
    const [message] = await shown(organizationId, [policy])
    return { policy: message }
  }

  return {
    async createPolicy({ organizationId, settings }, context) {
      const admin = adminOf(context, organizationId)
      check(settings !== undefined, 'settings', 'must be set')
      parsePolicySettings(settings, '', conditions)
      await requirePlan(organizations, organizationId)
      const issuerUrl = await issuerUrlOf(dependencies, organizationId, settings.issuerId)
      const workspaceId = await parseTarget(store, organizationId, settings.keyId)
      const parsed = parsePolicySettings(settings, workspaceId, conditions)
      const warnings = warningsOf(dependencies, issuerUrl, parsed)
      const decide = (count: number) => {
        if (count >= MAX_POLICIES) throw new Rejection('TOO_MANY_POLICIES', { most: `${MAX_POLICIES}` })
        return parsed
      }
      const policy = await federation.createPolicy(organizationId, randomUUID(), decide, byOf(admin, clock))
      const [message] = await shown(organizationId, [policy])
      return { policy: message, warnings }
    },

    async getPolicy(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const policyId = parsePolicyId(request.policyId)
      const policy = await federation.getPolicy(organizationId, policyId)
      if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
      const [message] = await shown(organizationId, [policy])
      return { policy: message }
    },

    async listPolicies(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const { items, total } = await federation.listPolicies(organizationId, parseSlice(request), request.issuerId)
      return { policies: await shown(organizationId, items), totalSize: total }
    },

    async updatePolicy(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const policyId = parsePolicyId(request.policyId)
      await requirePlan(organizations, organizationId)
      const { settings = create(PolicySettingsSchema), updateMask } = request
      const paths = requireMask(updateMask, FIELDS)
      const current = await federation.getPolicy(organizationId, policyId)
      if (current === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
      // A policy whose issuer was deleted can still be changed in every other way.
      const issuerUrl = paths.includes('issuer_id')
        ? await issuerUrlOf(dependencies, organizationId, settings.issuerId)
        : (await federation.getIssuer(organizationId, current.issuerId))?.issuer.url
      const workspaceId = paths.includes('key_id')
        ? await parseTarget(store, organizationId, settings.keyId)
        : current.target.workspaceId
      let warnings: string[] = []
      const changed = await revise(request, context, (policy) => {
        const message = withFields(PolicySettingsSchema, policySettingsToProto(policy), settings, paths)
        const isSameKey = message.keyId === policy.target.keyId
        const parsed = parsePolicySettings(message, isSameKey ? policy.target.workspaceId : workspaceId, conditions)
        warnings = warningsOf(dependencies, issuerUrl, parsed)
        return parsed
      })
      return { ...changed, warnings }
    },

    /** Access tokens that were issued remain valid. */
    async deletePolicy(request, context) {
      const admin = adminOf(context, request.organizationId)
      const policyId = parsePolicyId(request.policyId)
      const isDeleted = await federation.deletePolicy(admin.organizationId, policyId, byOf(admin, clock))
      if (!isDeleted) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
      return {}
    },

    /** Pausing or resuming it again is not an error. */
    pausePolicy: (request, context) => revise(request, context, (policy) => ({ ...policy, enabled: false })),

    async resumePolicy(request, context) {
      await requirePlan(organizations, adminOf(context, request.organizationId).organizationId)
      return revise(request, context, (policy) => ({ ...policy, enabled: true }))
    },

    async addPolicyCheck(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const { scope, tokenType } = request.check ?? {}
      check((scope === undefined) !== (tokenType === undefined), 'check', 'must be one check, scope or token_type')
      if (request.check !== undefined) checkChecks(request.check, 'check')
      await requirePlan(organizations, organizationId)
      return revise(request, context, (policy) => {
        const { checks } = policy
        const [name, value] = scope === undefined ? ['token_type', checks.tokenType] : ['scope', checks.scope]
        if (value !== undefined) throw new Rejection('CHECK_EXISTS', { check: name })
        return { ...policy, checks: { scope: scope ?? checks.scope, tokenType: tokenType ?? checks.tokenType } }
      })
    },

    removePolicyCheck(request, context) {
      const name = CHECKS.get(request.check)
      return revise(request, context, (policy) => {
        if (name === undefined || policy.checks[name] === undefined) {
          throw new Rejection('CHECK_NOT_FOUND', { check: request.check.slice(0, 64) })
        }
        return { ...policy, checks: { ...policy.checks, [name]: undefined } }
      })
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

/**
 * Parses the settings in a message; `workspaceId` is that of its key. Rejects with REQUEST_INVALID if they cannot be
 * saved. It does not check whether the issuer and the key exist.
 */
export function parsePolicySettings(
  message: PolicySettingsMessage,
  workspaceId: string,
  conditions: Conditions,
): PolicySettings {
  checkSettings(message)
  if (message.checks !== undefined) checkChecks(message.checks, 'checks')
  const settings = policySettingsFromProto(message, workspaceId)
  const { subject, condition } = settings
  check(subject !== undefined || condition !== undefined, 'subject', 'must be set if there is no condition')
  const read = condition === undefined ? undefined : conditions.read(condition)
  if (read !== undefined && 'problem' in read) throw invalid('condition', read.problem)
  return settings
}

/** The workspace of the key in a policy, which must be a workspace key of the organization. */
export async function parseTarget(
  store: Pick<IdentityStore, 'findOrganizationKey'>,
  organizationId: string,
  keyId: string,
): Promise<string> {
  const key = await store.findOrganizationKey(organizationId, keyId)
  check(key?.kind === Kind.WORKSPACE, 'key_id', 'must be the key_id of a workspace key of the organization')
  return key.workspaceId
}

/** Checks a policy's identifier: a policy with another form of id does not exist. */
export function parsePolicyId(policyId: string): string {
  if (!UUID.test(policyId)) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId.slice(0, 64) })
  return policyId
}

function policyToProto(policy: Policy, issuerDeleted: boolean): MessageInitShape<typeof PolicySchema> {
  return {
    policyId: policy.id,
    settings: policySettingsToProto(policy),
    revision: BigInt(policy.revision),
    createTime: timestampFromMs(policy.timeCreated),
    updateTime: timestampFromMs(policy.timeUpdated),
    workspaceId: policy.target.workspaceId,
    issuerDeleted,
  }
}

function policySettingsToProto(settings: PolicySettings): PolicySettingsMessage {
  const { name, issuerId, subject, audience, condition, target, enabled, checks } = settings
  return create(PolicySettingsSchema, {
    name,
    issuerId,
    audience,
    keyId: target.keyId,
    enabled,
    subject,
    condition,
    checks,
  })
}

/** Converts the settings in a message, whether or not they may be saved; `workspaceId` is that of the key. */
function policySettingsFromProto(message: PolicySettingsMessage, workspaceId: string): PolicySettings {
  const { name, issuerId, subject, audience, condition, keyId, enabled, checks } = message
  return {
    name,
    issuerId,
    subject,
    audience,
    condition,
    enabled,
    target: { workspaceId, keyId },
    checks: { scope: checks?.scope, tokenType: checks?.tokenType },
  }
}
