import { z } from 'zod'
import { operation } from '#gateway/operation.ts'
import { ORGANIZATION_PATH, ofOrganization, publicField } from '../common.ts'
import { fromPolicy, fromStep, toChecks, toPolicySettings } from './mappers.ts'
import { ofPolicy, POLICY_PATH } from './operations.ts'
import { addCheckBody, checkParameter, policy, testPolicyBody, testResult } from './schemas.ts'

const answer = z.strictObject({ data: policy })

export const pausePolicy = operation({
  id: 'policies.pause',
  method: 'post',
  path: `${POLICY_PATH}/pause`,
  params: ofPolicy,
  summary: 'Pauses a policy, which refuses every exchange from now on. Pausing it again is not an error',
  answer,
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId }, call }) =>
    federation.pausePolicy({ organizationId, policyId }, call.options()),
  present: ({ policy }) => ({ data: fromPolicy(policy) }),
})

export const resumePolicy = operation({
  id: 'policies.resume',
  method: 'post',
  path: `${POLICY_PATH}/resume`,
  params: ofPolicy,
  summary: 'Resumes a paused policy. Resuming it again is not an error',
  answer,
  errors: ['PLAN_REQUIRED'],
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId }, call }) =>
    federation.resumePolicy({ organizationId, policyId }, call.options()),
  present: ({ policy }) => ({ data: fromPolicy(policy) }),
})

export const addPolicyCheck = operation({
  id: 'policies.checks.add',
  method: 'post',
  path: `${POLICY_PATH}/checks`,
  params: ofPolicy,
  summary: 'Adds a check of a claim that the policy does not have yet',
  body: addCheckBody,
  answer,
  errors: ['PLAN_REQUIRED', 'CHECK_EXISTS', 'REQUEST_INVALID'],
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId }, body, call }) =>
    federation.addPolicyCheck({ organizationId, policyId, check: toChecks(body) }, call.options()),
  present: ({ policy }) => ({ data: fromPolicy(policy) }),
  publicField: (field) => field.replace(/^check\./, ''),
})

export const removePolicyCheck = operation({
  id: 'policies.checks.remove',
  method: 'delete',
  path: `${POLICY_PATH}/checks/{check}`,
  params: ofPolicy.extend({ check: checkParameter }),
  summary: 'Removes a check of a claim',
  answer,
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId, check }, call }) =>
    federation.removePolicyCheck({ organizationId, policyId, check }, call.options()),
  present: ({ policy }) => ({ data: fromPolicy(policy) }),
})

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
