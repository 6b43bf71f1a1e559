import type { ServiceImpl } from '@connectrpc/connect'
import { ClaimChecksSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { OrganizationStore } from '#services/identity/ports/organization-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { adminOf, requirePlan } from '../parse.ts'
import { revisePolicy } from './revise-policy.ts'

const checkValues = checkLimits(ClaimChecksSchema)

/** Adds a claim check that the policy does not have yet. */
export function addPolicyCheck(dependencies: {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['addPolicyCheck'] {
  return async (request, context) => {
    const { organizationId } = adminOf(context, request.organizationId)
    const { scope, tokenType } = request.check ?? {}
    check((scope === undefined) !== (tokenType === undefined), 'check', 'must be one check, scope or token_type')
    if (request.check !== undefined) checkValues(request.check, 'check')
    await requirePlan(dependencies.organizations, organizationId)
    return revisePolicy(dependencies, request, context, (policy) => {
      const { checks } = policy
      const has = scope === undefined ? checks.tokenType : checks.scope
      if (has !== undefined)
        throw new Rejection('CHECK_EXISTS', { check: scope === undefined ? 'token_type' : 'scope' })
      return { ...policy, checks: { scope: scope ?? checks.scope, tokenType: tokenType ?? checks.tokenType } }
    })
  }
}
