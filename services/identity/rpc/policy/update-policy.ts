import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { PolicySettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { IdentityStore } from '#services/identity/ports/identity-store.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf, byOf, requirePlan } from '../parse.ts'
import { requireMask, withFields } from '../update-mask.ts'
import { policySettingsToProto } from './convert.ts'
import { parsePolicyId, parsePolicySettings, parseTarget } from './parse.ts'
import { type IssuerGuard, issuerUrlOf, warningsOf } from './shared-issuers.ts'
import { shownPolicy } from './shown-policies.ts'

/** Checks are added and removed, and policies paused and resumed, by separate RPCs. */
const FIELDS = ['name', 'issuer_id', 'subject', 'audience', 'condition', 'key_id']

/** Changes settings of a policy, which apply from the next exchange on. */
export function updatePolicy(
  dependencies: IssuerGuard & {
    readonly federation: FederationStore
    readonly organizations: OrganizationStore
    readonly store: IdentityStore
    readonly clock: Clock
  },
): ServiceImpl<typeof FederationService>['updatePolicy'] {
  const { federation, organizations, store, conditions, clock } = dependencies
  return async (request, context) => {
    const admin = adminOf(context, request.organizationId)
    const { organizationId } = admin
    const policyId = parsePolicyId(request.policyId)
    await requirePlan(organizations, organizationId)
    const { settings = create(PolicySettingsSchema), updateMask } = request
    const paths = requireMask(updateMask, FIELDS)
    const current = await federation.getPolicy(organizationId, policyId)
    if (current === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
    const isMoved = paths.includes('issuer_id')
    // A policy whose issuer was deleted can still be changed in every other way.
    const issuerUrl = isMoved
      ? await issuerUrlOf(dependencies, organizationId, settings.issuerId)
      : (await federation.getIssuer(organizationId, current.issuerId))?.issuer.url
    const workspaceId = paths.includes('key_id')
      ? await parseTarget(store, organizationId, settings.keyId)
      : current.target.workspaceId
    let warnings: string[] = []
    const decide = (policy: Policy) => {
      const changed = withFields(PolicySettingsSchema, policySettingsToProto(policy), settings, paths)
      const isSameKey = changed.keyId === policy.target.keyId
      const parsed = parsePolicySettings(changed, isSameKey ? policy.target.workspaceId : workspaceId, conditions)
      warnings = warningsOf(dependencies, issuerUrl, parsed)
      return parsed
    }
    const policy = await federation.revisePolicy(organizationId, policyId, decide, byOf(admin, clock))
    if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
    return { policy: await shownPolicy(federation, policy), warnings }
  }
}
