import type { MessageInitShape } from '@bufbuild/protobuf'
import { z } from 'zod'
import { ClaimChecksSchema, type Policy, PolicySettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonOf } from '../kinds.ts'
import { workspaceId, workspaceUuid } from '../records/ids.ts'
import { fromMoment, moment } from '../records/time.ts'
import { limitedBy } from '../shape.ts'

const { name, subject, audience, condition } = PolicySettingsSchema.field
const { scope, tokenType } = ClaimChecksSchema.field

/** What the claims have to hold besides; each at most once. */
const checks = z.strictObject({
  scope: limitedBy(scope, z.string()).optional().meta({ description: 'One of the entries of the `scopes` claim' }),
  token_type: limitedBy(tokenType, z.string()).optional().meta({ description: 'Equals the `token_type` claim' }),
})

/** Body of policies.checks.add. */
export const addCheckBody = checks.refine(
  (given) => Object.values(given).filter((value) => value !== undefined).length === 1,
  {
    error: 'must have one of scope and token_type',
  },
)

/** The check of a path. */
export const checkParameter = z.enum(['scope', 'token_type']).meta({ description: 'Check' })

const fields = {
  name: limitedBy(name, z.string()),
  issuer_id: z.string(),
  subject: limitedBy(subject, z.string())
    .nullable()
    .meta({ description: 'Equals the `sub` claim; a subject or a condition is required' }),
  audience: limitedBy(audience, z.string()).meta({ description: 'Equals one of the values of the `aud` claim' }),
  condition: limitedBy(condition, z.string()).nullable().meta({ description: 'A CEL expression that has to be true' }),
  key_id: z.string().meta({ description: 'The workspace key that access tokens act as' }),
}

/** Body of policies.create. */
export const createPolicyBody = z
  .strictObject({ ...fields, enabled: z.boolean(), checks })
  .partial({ subject: true, condition: true, enabled: true, checks: true })

/** Body of policies.update: what is left out stays as it is, null is removed. */
export const updatePolicyBody = z.strictObject(fields).partial()

type Body = z.output<typeof updatePolicyBody> & Partial<Pick<z.output<typeof createPolicyBody>, 'enabled' | 'checks'>>

export function toPolicySettings(body: Body): MessageInitShape<typeof PolicySettingsSchema> {
  const { name = '', issuer_id: issuerId = '', audience = '', key_id: keyId = '', enabled = true } = body
  return {
    ...{ name, issuerId, audience, keyId, enabled, checks: toChecks(body.checks) },
    ...(body.subject == null ? {} : { subject: body.subject }),
    ...(body.condition == null ? {} : { condition: body.condition }),
  }
}

export function toChecks({ scope, token_type: tokenType }: z.output<typeof checks> = {}) {
  return { ...(scope === undefined ? {} : { scope }), ...(tokenType === undefined ? {} : { tokenType }) }
}

/** A policy as it is shown. */
export const policy = z
  .strictObject({
    id: z.string(),
    ...fields,
    workspace_id: workspaceId.meta({ description: 'Workspace of the key' }),
    enabled: z.boolean(),
    checks,
    revision: z.int().meta({ description: 'Raised by every change' }),
    created_at: moment,
    updated_at: moment,
  })
  .meta({ id: 'FederationPolicy' })

/** What is allowed and yet unwise about a policy, for people. */
export const warnings = z.array(z.string()).meta({ description: 'What is allowed and yet unwise about it, for people' })

export function fromPolicy(shown: Policy | undefined): JsonOf<typeof policy> {
  const { policyId, settings, workspaceId: workspace = '', revision, createTime, updateTime } = shown ?? {}
  if (policyId === undefined || settings === undefined) throw new Error('identity answered without a policy')
  const { scope, tokenType } = settings.checks ?? {}
  return {
    id: policyId,
    name: settings.name,
    issuer_id: settings.issuerId,
    subject: settings.subject ?? null,
    audience: settings.audience,
    condition: settings.condition ?? null,
    key_id: settings.keyId,
    workspace_id: workspaceUuid(workspace),
    enabled: settings.enabled,
    checks: {
      ...(scope === undefined ? {} : { scope }),
      ...(tokenType === undefined ? {} : { token_type: tokenType }),
    },
    revision: Number(revision),
    created_at: fromMoment(createTime),
    updated_at: fromMoment(updateTime),
  }
}
