import { z } from 'zod'
import { type ExchangeStep, ExchangeStep_Verdict as Verdict } from '#gen/portico/identity/v1/federation_pb.js'
import { TestPolicyRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { operation } from '../operation.ts'
import { limitedBy } from '../shape.ts'
import { ADMIN, ORGANIZATION_PATH, ofOrganization, policyId, publicField } from './common.ts'
import { createPolicyBody, toPolicySettings } from './policy.ts'

/** Body of policies.test. */
export const testPolicyBody = z
  .strictObject({
    subject_token: limitedBy(TestPolicyRequestSchema.field.subjectToken, z.string().min(1)).meta({
      description: 'Nothing of it is kept or shown but its claims',
    }),
    policy_id: policyId.optional().meta({ description: 'A policy that is saved, paused or not' }),
    policy: createPolicyBody.optional().meta({ description: 'One that need not be saved' }),
  })
  .refine(({ policy_id: id, policy }) => (id === undefined) !== (policy === undefined), {
    error: 'must have one of policy_id and policy',
  })

const verdicts = enumTable({ passed: Verdict.PASSED, failed: Verdict.FAILED, skipped: Verdict.SKIPPED })

/** What became of each check, in order of evaluation. */
export const testResult = z.strictObject({
  accepted: z.boolean().meta({ description: 'Whether an exchange would have given out a token' }),
  steps: z.array(
    z.strictObject({
      name: z.string(),
      verdict: z.enum(['passed', 'failed', 'skipped']),
      expected: z.string().nullable().meta({ description: 'What the policy or the issuer asks for' }),
      found: z.string().nullable().meta({ description: 'What the token has' }),
    }),
  ),
})

export function fromStep({ name, verdict, expected, found }: ExchangeStep) {
  const word = verdicts.fromProto(verdict)
  if (word === undefined) throw new Error(`identity answered an unknown verdict: ${verdict}`)
  return { name, verdict: word, expected: expected ?? null, found: found ?? null }
}

export const testPolicy = operation({
  ...{
    ...ADMIN,
    id: 'policies.test',
    method: 'post',
    path: `${ORGANIZATION_PATH}/policies/test`,
    params: ofOrganization,
  },
  summary: 'What an exchange of a token would come to, check by check; nothing is given out, claimed or recorded',
  body: testPolicyBody,
  answer: z.strictObject({ data: testResult }),
  errors: ['ORGANIZATION_NOT_FOUND', 'POLICY_NOT_FOUND', 'REQUEST_INVALID'],
  handle({ federation }, { params: { organizationID: organizationId }, body, call }) {
    const { subject_token: subjectToken, policy_id: id, policy } = body
    const tested =
      policy === undefined
        ? ({ case: 'policyId', value: id ?? '' } as const)
        : ({ case: 'settings', value: toPolicySettings(policy) } as const)
    return federation.testPolicy({ organizationId, subjectToken, policy: tested }, call.options())
  },
  present: ({ accepted, steps }) => ({ data: { accepted, steps: steps.map(fromStep) } }),
  publicField: (field) => publicField(field).replace(/^policy\./, ''),
})
