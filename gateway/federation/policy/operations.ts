import { z } from 'zod'
import { byStatus, noContent } from '#gateway/kinds.ts'
import { operation } from '#gateway/operation.ts'
import { listOf, offsetQuery, toOffset } from '#gateway/records/page.ts'
import { ListPoliciesRequestSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { issuerId, maskOf, ORGANIZATION_PATH, ofOrganization, policyId, publicField, warnings } from '../common.ts'
import { fromPolicy, toPolicySettings } from './mappers.ts'
import { createPolicyBody, policy, updatePolicyBody } from './schemas.ts'

const LIST_PATH = `${ORGANIZATION_PATH}/policies` as const
export const POLICY_PATH = `${LIST_PATH}/{policyID}` as const
export const ofPolicy = ofOrganization.extend({ policyID: policyId.meta({ description: 'Policy' }) })
const SETTINGS = ['name', 'issuer_id', 'subject', 'audience', 'condition', 'key_id'] as const
const saved = z.strictObject({ data: policy, warnings })

export const listPolicies = operation({
  id: 'policies.list',
  method: 'get',
  path: LIST_PATH,
  params: ofOrganization,
  summary: 'The federation policies of an organization, oldest first',
  query: z.object({
    ...offsetQuery(ListPoliciesRequestSchema),
    issuer_id: issuerId.optional().meta({ description: 'Only those of this issuer' }),
  }),
  answer: listOf(policy),
  handle({ federation }, { params: { organizationID: organizationId }, query, call }) {
    const { issuer_id: issuerId } = query
    const request = { organizationId, ...toOffset(query), issuerId }
    return federation.listPolicies(request, call.options())
  },
  present: ({ policies, totalSize }) => ({ data: policies.map(fromPolicy), total_count: totalSize }),
})

export const createPolicy = operation({
  id: 'policies.create',
  method: 'post',
  path: LIST_PATH,
  params: ofOrganization,
  summary: 'Determines which tokens of an issuer are exchanged, and for which key',
  body: createPolicyBody,
  answer: byStatus({ 201: saved }),
  errors: ['PLAN_REQUIRED', 'TOO_MANY_POLICIES', 'REQUEST_INVALID'],
  handle: ({ federation }, { params: { organizationID: organizationId }, body, call }) =>
    federation.createPolicy({ organizationId, settings: toPolicySettings(body) }, call.options()),
  present: ({ policy, warnings }) => ({ status: 201, body: { data: fromPolicy(policy), warnings } }),
  publicField,
})

export const getPolicy = operation({
  id: 'policies.get',
  method: 'get',
  path: POLICY_PATH,
  params: ofPolicy,
  summary: 'One policy',
  answer: z.strictObject({ data: policy }),
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId }, call }) =>
    federation.getPolicy({ organizationId, policyId }, call.options()),
  present: ({ policy }) => ({ data: fromPolicy(policy) }),
})

export const updatePolicy = operation({
  id: 'policies.update',
  method: 'patch',
  path: POLICY_PATH,
  params: ofPolicy,
  summary: 'Changes a policy, which takes effect with the next exchange of every replica',
  body: updatePolicyBody,
  answer: saved,
  errors: ['PLAN_REQUIRED', 'REQUEST_INVALID'],
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId }, body, call }) => {
    const request = { organizationId, policyId, settings: toPolicySettings(body), updateMask: maskOf(body, SETTINGS) }
    return federation.updatePolicy(request, call.options())
  },
  present: ({ policy, warnings }) => ({ data: fromPolicy(policy), warnings }),
  publicField,
})

export const deletePolicy = operation({
  id: 'policies.delete',
  method: 'delete',
  path: POLICY_PATH,
  params: ofPolicy,
  summary: 'Deletes a policy; access tokens that were issued remain valid',
  answer: noContent,
  handle: ({ federation }, { params: { organizationID: organizationId, policyID: policyId }, call }) =>
    federation.deletePolicy({ organizationId, policyId }, call.options()),
})
