import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  type PolicySchema,
  type PolicySettings as PolicySettingsMessage,
  PolicySettingsSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { Policy, PolicySettings } from '#services/identity/domain/policy.ts'

export function policyToProto(policy: Policy, issuerDeleted: boolean): MessageInitShape<typeof PolicySchema> {
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

export function policySettingsToProto(settings: PolicySettings): PolicySettingsMessage {
  const { name, issuerId, subject, audience, condition, target, enabled, checks } = settings
  return create(PolicySettingsSchema, {
    name,
    issuerId,
    audience,
    keyId: target.keyId,
    enabled,
    ...(subject !== undefined && { subject }),
    ...(condition !== undefined && { condition }),
    checks: {
      ...(checks.scope !== undefined && { scope: checks.scope }),
      ...(checks.tokenType !== undefined && { tokenType: checks.tokenType }),
    },
  })
}

/** Converts the settings in a message, whether or not they may be saved; `workspaceId` is that of the key. */
export function policySettingsFromProto(message: PolicySettingsMessage, workspaceId: string): PolicySettings {
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
