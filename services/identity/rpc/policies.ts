import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { ClaimChecksSchema, type PolicySettings, PolicySettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import { type FederationService, ListPoliciesRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { sliceParser } from '#shared/rpc/pages.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { MAX_POLICIES, type Policy } from '../domain/policy.ts'
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
/** Members of the checks by the names of their fields. */
const CHECKS: ReadonlyMap<string, 'scope' | 'tokenType'> = new Map([
  ['scope', 'scope'],
  ['token_type', 'tokenType'],
])
const checkSettingsLimits = checkLimits(PolicySettingsSchema)
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
  async function viewsOf(organizationId: string, policies: readonly Policy[]) {
    const issuerIds = policies.map(({ settings }) => settings.issuerId)
    const present = await federation.presentIssuers(organizationId, issuerIds)
    return policies.map((policy) => ({ ...policy, issuerDeleted: !present.has(policy.settings.issuerId) }))
  }

  async function revise(
    request: { readonly organizationId: string; readonly policyId: string },
    context: Pick<HandlerContext, 'values'>,
    decide: (settings: PolicySettings) => PolicySettings,
  ) {
    const admin = adminOf(context, request.organizationId)
    const { organizationId } = admin
    const policyId = parsePolicyId(request.policyId)
    const policy = await federation.revisePolicy(organizationId, policyId, decide, byOf(admin, clock))
    if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
    const [view] = await viewsOf(organizationId, [policy])
    return { policy: view }
  }

  return {
    async createPolicy({ organizationId, settings }, context) {
      const admin = adminOf(context, organizationId)
      check(settings !== undefined, 'settings', 'must be set')
      checkPolicySettings(settings, conditions)
      await requirePlan(organizations, organizationId)
      const issuerUrl = await issuerUrlOf(dependencies, organizationId, settings.issuerId)
      const workspaceId = await workspaceOf(store, organizationId, settings.keyId)
      const warnings = warningsOf(dependencies, issuerUrl, settings)
      const decide = (count: number) => {
        if (count >= MAX_POLICIES) throw new Rejection('TOO_MANY_POLICIES', { most: `${MAX_POLICIES}` })
        return { ...settings, workspaceId }
      }
      const policy = await federation.createPolicy(organizationId, randomUUID(), decide, byOf(admin, clock))
      const [created] = await viewsOf(organizationId, [policy])
      return { policy: created, warnings }
    },

    async getPolicy(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const policyId = parsePolicyId(request.policyId)
      const policy = await federation.getPolicy(organizationId, policyId)
      if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
      const [view] = await viewsOf(organizationId, [policy])
      return { policy: view }
    },

    async listPolicies(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const { items, total } = await federation.listPolicies(organizationId, parseSlice(request), request.issuerId)
      return { policies: await viewsOf(organizationId, items), totalSize: total }
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
        : (await federation.getIssuer(organizationId, current.settings.issuerId))?.settings.issuerUrl
      const workspaceId = paths.includes('key_id')
        ? await workspaceOf(store, organizationId, settings.keyId)
        : current.settings.workspaceId
      let warnings: string[] = []
      const changed = await revise(request, context, (before) => {
        const merged = withFields(PolicySettingsSchema, before, settings, paths)
        checkPolicySettings(merged, conditions)
        warnings = warningsOf(dependencies, issuerUrl, merged)
        return { ...merged, workspaceId: merged.keyId === before.keyId ? before.workspaceId : workspaceId }
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
    pausePolicy: (request, context) => revise(request, context, (settings) => ({ ...settings, enabled: false })),

    async resumePolicy(request, context) {
      await requirePlan(organizations, adminOf(context, request.organizationId).organizationId)
      return revise(request, context, (settings) => ({ ...settings, enabled: true }))
    },

    async addPolicyCheck(request, context) {
      const { organizationId } = adminOf(context, request.organizationId)
      const { scope, tokenType } = request.check ?? {}
      check((scope === undefined) !== (tokenType === undefined), 'check', 'must be one check, scope or token_type')
      if (request.check !== undefined) checkChecks(request.check, 'check')
      await requirePlan(organizations, organizationId)
      return revise(request, context, (settings) => {
        const { checks } = settings
        const [name, value] = scope === undefined ? ['token_type', checks?.tokenType] : ['scope', checks?.scope]
        if (value !== undefined) throw new Rejection('CHECK_EXISTS', { check: name })
        const all = { scope: scope ?? checks?.scope, tokenType: tokenType ?? checks?.tokenType }
        return { ...settings, checks: create(ClaimChecksSchema, all) }
      })
    },

    removePolicyCheck(request, context) {
      const name = CHECKS.get(request.check)
      return revise(request, context, (settings) => {
        if (name === undefined || settings.checks?.[name] === undefined) {
          throw new Rejection('CHECK_NOT_FOUND', { check: request.check.slice(0, 64) })
        }
        const { [name]: _, ...checks } = settings.checks
        return { ...settings, checks }
      })
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

/**
 * Rejects with REQUEST_INVALID if settings cannot be saved. It does not check whether the issuer and the key exist, nor
 * the workspace, which is never taken from a request.
 */
export function checkPolicySettings(settings: PolicySettings, conditions: Conditions): void {
  checkSettingsLimits(settings)
  const { checks, subject, condition } = settings
  if (checks !== undefined) checkChecks(checks, 'checks')
  check(subject !== undefined || condition !== undefined, 'subject', 'must be set if there is no condition')
  const read = condition === undefined ? undefined : conditions.read(condition)
  if (read !== undefined && 'problem' in read) throw invalid('condition', read.problem)
}

/** The workspace of the key in a policy, which must be a workspace key of the organization. */
export async function workspaceOf(
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
