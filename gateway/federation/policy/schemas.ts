import { z } from 'zod'
import { workspaceId } from '#gateway/records/ids.ts'
import { moment } from '#gateway/records/time.ts'
import { limitedBy } from '#gateway/shape.ts'
import { ClaimChecksSchema, PolicySettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import { TestPolicyRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { policyId } from '../common.ts'

const { name, subject, audience, condition } = PolicySettingsSchema.field
const { scope, tokenType } = ClaimChecksSchema.field

/** What the claims have to hold besides; each at most once. */
export const checks = z.strictObject(
  {
    scope: limitedBy(scope, z.string()).optional().meta({ description: 'One of the entries of the `scopes` claim' }),
    token_type: limitedBy(tokenType, z.string()).optional().meta({ description: 'Equals the `token_type` claim' }),
  },
  { error: ({ code }) => (code === 'unrecognized_keys' ? 'may only have scope and token_type' : undefined) },
)

export const addCheckBody = checks.refine(
  (members) => Object.values(members).filter((value) => value !== undefined).length === 1,
  {
    error: 'must have one of scope and token_type',
  },
)

export const checkParameter = z.enum(['scope', 'token_type']).meta({ description: 'Check' })

const fields = {
  name: limitedBy(name, z.string()),
  issuer_id: z.string(),
  subject: limitedBy(subject, z.string())
    .nullable()
    .meta({ description: 'Equals the `sub` claim; a subject or a condition is required' }),
  audience: limitedBy(audience, z.string()).meta({ description: 'Equals one of the values of the `aud` claim' }),
  condition: limitedBy(condition, z.string()).nullable().meta({ description: 'A CEL expression that must be true' }),
  key_id: z.string().meta({ description: 'The workspace key that access tokens act as' }),
}

export const createPolicyBody = z
  .strictObject({ ...fields, enabled: z.boolean(), checks })
  .partial({ subject: true, condition: true, enabled: true, checks: true })

/** Body of policies.update: what is left out stays as it is, null is removed. */
export const updatePolicyBody = z.strictObject(fields).partial()

export const policy = z
  .strictObject({
    id: z.string(),
    ...fields,
    workspace_id: workspaceId.meta({ description: 'Workspace of the key' }),
    issuer_deleted: z.boolean().meta({
      description: 'Whether its issuer was deleted, so that it refuses every exchange until it gets another one',
    }),
    enabled: z.boolean(),
    checks,
    revision: z.int().meta({ description: 'Raised by every change' }),
    created_at: moment,
    updated_at: moment,
  })
  .meta({ id: 'FederationPolicy' })

export const testPolicyBody = z
  .strictObject({
    subject_token: limitedBy(TestPolicyRequestSchema.field.subjectToken, z.string().min(1)).meta({
      description: 'Only its claims are kept and shown',
    }),
    policy_id: policyId.optional().meta({ description: 'A saved policy, paused or not' }),
    policy: createPolicyBody.optional().meta({ description: 'A policy that need not be saved' }),
  })
  .refine(({ policy_id: id, policy }) => (id === undefined) !== (policy === undefined), {
    error: 'must have one of policy_id and policy',
  })

/** What became of each check, in order of evaluation. */
export const testResult = z.strictObject({
  accepted: z.boolean().meta({ description: 'Whether an exchange would have issued a token' }),
  steps: z.array(
    z.strictObject({
      name: z.string(),
      verdict: z.enum(['passed', 'failed', 'skipped']),
      expected: z.string().nullable().meta({ description: 'What the policy or the issuer requires' }),
      found: z.string().nullable().meta({ description: 'What the token has' }),
    }),
  ),
})
