import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import type { JsonOf } from '#gateway/kinds.ts'
import { fromMoment } from '#gateway/records/time.ts'
import {
  type ExchangeStep,
  type Policy,
  type PolicySettingsSchema,
  ExchangeStep_Verdict as Verdict,
} from '#gen/portico/identity/v1/federation_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import type { checks, createPolicyBody, policy, updatePolicyBody } from './schemas.ts'

type Body = z.output<typeof updatePolicyBody> & Partial<Pick<z.output<typeof createPolicyBody>, 'enabled' | 'checks'>>

export function toPolicySettings(body: Body): MessageInitShape<typeof PolicySettingsSchema> {
  const { name = '', issuer_id: issuerId = '', audience = '', key_id: keyId = '', enabled = true } = body
  return {
    name,
    issuerId,
    audience,
    keyId,
    enabled,
    checks: toChecks(body.checks),
    subject: body.subject ?? undefined,
    condition: body.condition ?? undefined,
  }
}

export function toChecks({ scope, token_type: tokenType }: z.output<typeof checks> = {}) {
  return { scope, tokenType }
}

export function fromPolicy(record: Policy | undefined): JsonOf<typeof policy> {
  if (record?.settings === undefined) throw new Error('identity returned no policy')
  const { policyId, settings, issuerDeleted, revision, createTime, updateTime } = record
  const { scope, tokenType } = settings.checks ?? {}
  return {
    id: policyId,
    name: settings.name,
    issuer_id: settings.issuerId,
    subject: settings.subject ?? null,
    audience: settings.audience,
    condition: settings.condition ?? null,
    key_id: settings.keyId,
    workspace_id: workspaceUuid(settings.workspaceId),
    issuer_deleted: issuerDeleted,
    enabled: settings.enabled,
    checks: { scope, token_type: tokenType },
    revision,
    created_at: fromMoment(createTime),
    updated_at: fromMoment(updateTime),
  }
}

const verdicts = enumTable({ passed: Verdict.PASSED, failed: Verdict.FAILED, skipped: Verdict.SKIPPED })

export function fromStep({ name, verdict, expected, found }: ExchangeStep) {
  const word = verdicts.fromProto(verdict)
  if (word === undefined) throw new Error(`identity returned an unknown verdict: ${verdict}`)
  return { name, verdict: word, expected: expected ?? null, found: found ?? null }
}
