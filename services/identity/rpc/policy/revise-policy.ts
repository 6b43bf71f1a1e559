import type { MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import type { PolicySchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { Policy, PolicySettings } from '#services/identity/domain/policy.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { adminOf, byOf } from '../parse.ts'
import { parsePolicyId } from './parse.ts'
import { shownPolicy } from './shown-policies.ts'

/**
 * Changes a policy on behalf of an admin of its organization; rejects with what `decide` throws, or POLICY_NOT_FOUND.
 */
export async function revisePolicy(
  { federation, clock }: { readonly federation: FederationStore; readonly clock: Clock },
  request: { readonly organizationId: string; readonly policyId: string },
  context: Pick<HandlerContext, 'values'>,
  decide: (policy: Policy) => PolicySettings,
): Promise<{ policy: MessageInitShape<typeof PolicySchema> }> {
  const admin = adminOf(context, request.organizationId)
  const policyId = parsePolicyId(request.policyId)
  const policy = await federation.revisePolicy(admin.organizationId, policyId, decide, byOf(admin, clock))
  if (policy === undefined) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId })
  return { policy: await shownPolicy(federation, policy) }
}
