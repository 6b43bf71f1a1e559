import { z } from 'zod'
import { operation } from '#gateway/operation.ts'
import { ORGANIZATION_PATH, ofOrganization, publicField } from '../common.ts'
import { fromStep, toPolicySettings } from './mappers.ts'
import { testPolicyBody, testResult } from './schemas.ts'

export const testPolicy = operation({
  id: 'policies.test',
  method: 'post',
  path: `${ORGANIZATION_PATH}/policies/test`,
  params: ofOrganization,
  summary: 'The outcome that an exchange of a token would have, check by check; nothing is issued, claimed or recorded',
  body: testPolicyBody,
  answer: z.strictObject({ data: testResult }),
  errors: ['POLICY_NOT_FOUND', 'REQUEST_INVALID'],
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
