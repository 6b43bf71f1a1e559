import type { MessageInitShape } from '@bufbuild/protobuf'
import type { PolicySchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { Policy } from '#services/identity/domain/policy.ts'
import type { FederationStore } from '#services/identity/ports/federation-store.ts'
import { policyToProto } from './convert.ts'

type Message = MessageInitShape<typeof PolicySchema>
type Store = Pick<FederationStore, 'presentIssuers'>

/** Converts policies of an organization, including whether their issuers were deleted. */
export async function shownPolicies(
  federation: Store,
  organizationId: string,
  policies: readonly Policy[],
): Promise<Message[]> {
  const issuerIds = policies.map(({ issuerId }) => issuerId)
  const present = await federation.presentIssuers(organizationId, issuerIds)
  return policies.map((policy) => policyToProto(policy, !present.has(policy.issuerId)))
}

/** Converts one policy in the same way. */
export async function shownPolicy(federation: Store, policy: Policy): Promise<Message> {
  const present = await federation.presentIssuers(policy.organizationId, [policy.issuerId])
  return policyToProto(policy, !present.has(policy.issuerId))
}
