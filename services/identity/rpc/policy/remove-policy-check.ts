import type { ServiceImpl } from '@connectrpc/connect'
import type { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import type { ClaimChecks } from '#services/identity/domain/policy.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { revisePolicy } from './revise-policy.ts'

/** Names in the proto → names in the domain. */
const NAMES: ReadonlyMap<string, keyof ClaimChecks> = new Map([
  ['scope', 'scope'],
  ['token_type', 'tokenType'],
])

/** Removes a claim check that the policy has. */
export function removePolicyCheck(dependencies: {
  readonly federation: FederationStore
  readonly clock: Clock
}): ServiceImpl<typeof FederationService>['removePolicyCheck'] {
  return (request, context) => {
    const name = NAMES.get(request.check)
    return revisePolicy(dependencies, request, context, (policy) => {
      if (name === undefined || policy.checks[name] === undefined) {
        throw new Rejection('CHECK_NOT_FOUND', { check: request.check.slice(0, 64) })
      }
      return { ...policy, checks: { ...policy.checks, [name]: undefined } }
    })
  }
}
