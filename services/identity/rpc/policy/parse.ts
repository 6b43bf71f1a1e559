import {
  ClaimChecksSchema,
  type PolicySettings as PolicySettingsMessage,
  PolicySettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { PolicySettings } from '#services/identity/domain/policy.ts'
import type { Conditions } from '#services/identity/ports/conditions.ts'
import type { IdentityStore } from '#services/identity/ports/identity-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check, invalid } from '#shared/rpc/parse.ts'
import { policySettingsFromProto } from './convert.ts'

const checkSettings = checkLimits(PolicySettingsSchema)
const checkChecks = checkLimits(ClaimChecksSchema)
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

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
  check(key?.kind === 'workspace', 'key_id', 'must be the key_id of a workspace key of the organization')
  return key.workspaceId
}

/** Checks a policy's identifier: a policy with another form of id does not exist. */
export function parsePolicyId(policyId: string): string {
  if (!UUID.test(policyId)) throw new Rejection('POLICY_NOT_FOUND', { policy_id: policyId.slice(0, 64) })
  return policyId
}
