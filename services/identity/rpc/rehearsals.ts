import type { ServiceImpl } from '@connectrpc/connect'
import {
  type FederationService,
  type TestPolicyRequest,
  TestPolicyRequestSchema,
} from '#gen/portico/identity/v1/federation_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { readSubjectToken } from '../domain/subject-token/read-subject-token.ts'
import { SKIPPED, STEP_NAMES, type Step, stepOf, verdict } from '../domain/subject-token/step.ts'
import type { Conditions } from '../ports/conditions.ts'
import type { FederationStore } from '../ports/federation-store.ts'
import type { IdentityStore } from '../ports/identity-store.ts'
import type { OrganizationStore } from '../ports/organization-store.ts'
import type { Candidate, ExchangeSteps } from '../run/exchange/exchange-steps.ts'
import { adminOf } from './callers.ts'
import { checkPolicySettings, parsePolicyId, workspaceOf } from './policies.ts'

const checkRequest = checkLimits(TestPolicyRequestSchema)

interface Dependencies {
  readonly federation: FederationStore
  readonly organizations: OrganizationStore
  readonly store: IdentityStore
  readonly conditions: Conditions
  readonly steps: ExchangeSteps
  readonly clock: Clock
}

export function rehearsals(dependencies: Dependencies) {
  const { steps, clock } = dependencies
  return {
    async testPolicy(request, context) {
      adminOf(context, request.organizationId)
      checkRequest(request)
      const ground = await groundOf(request, dependencies)
      const read = readSubjectToken(request.subjectToken)
      if ('problem' in read) return { steps: formFailed(read.problem), accepted: false }
      const evaluation = await steps.all({ token: read.token, ground, now: clock.now() })
      const form = stepOf(
        'form',
        verdict(true, () => [FORM, FORM]),
      )
      return { steps: [form, ...evaluation.steps], accepted: evaluation.failed === undefined }
    },
  } satisfies Partial<ServiceImpl<typeof FederationService>>
}

const FORM = 'a JWT'

function formFailed(problem: string): Step[] {
  const failed = verdict(false, () => [FORM, `a text that ${problem}`])
  return STEP_NAMES.map((name) => stepOf(name, name === 'form' ? failed : SKIPPED))
}

async function groundOf(request: TestPolicyRequest, dependencies: Dependencies): Promise<Candidate['ground']> {
  const { federation, organizations, store, conditions } = dependencies
  const { organizationId, policy: draft } = request
  if (draft.case === 'policyId') {
    const ground = await federation.findPolicy(parsePolicyId(draft.value))
    if (ground !== undefined && !('deleted' in ground) && ground.policy.organizationId === organizationId) return ground
    throw new Rejection('POLICY_NOT_FOUND', { policy_id: draft.value })
  }
  check(draft.case === 'settings', 'policy', 'must be set')
  const workspaceId = await workspaceOf(store, organizationId, draft.value.keyId)
  const settings = { ...draft.value, workspaceId }
  checkPolicySettings(settings, conditions)
  const [organization, issuer, key] = await Promise.all([
    organizations.getOrganization(organizationId),
    federation.getIssuer(organizationId, settings.issuerId),
    store.findOrganizationKey(organizationId, settings.keyId),
  ])
  check(issuer !== undefined, 'issuer_id', 'must be the id of an issuer of the organization')
  if (organization === undefined) throw new Rejection('ORGANIZATION_NOT_FOUND', { organization_id: organizationId })
  return { policy: { settings }, issuer, organization, key }
}
