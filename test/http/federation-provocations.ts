import type { AnyReason } from '#shared/rejection.ts'

interface Provocation {
  readonly path: string
  readonly body?: unknown
  readonly by?: 'stubs'
}

const POLICY = '0b3f7c1e-5a4d-4e2b-9c8f-1a2b3c4d5e6f'
const issuer = { name: 'An issuer', issuer_url: 'https://issuer.example' }
const policy = { name: 'A policy', issuer_id: 'iss_1', subject: 'a', audience: 'b', key_id: 'key_1' }

/**
 * How each error of an operation that administers an organization is provoked: those about another organization by the
 * services, the rest by stubs.
 */
function each(path: string, reasons: readonly AnyReason[], body?: unknown): Partial<Record<AnyReason, Provocation>> {
  const given = { path: `/api/v1/organizations/org_other${path}`, ...(body === undefined ? {} : { body }) }
  const stubbed = reasons.map((reason) => [reason, { ...given, by: 'stubs' }] as const)
  return { ORGANIZATION_NOT_FOUND: given, ...Object.fromEntries(stubbed) }
}

const CHANGED = ['PLAN_REQUIRED', 'REQUEST_INVALID'] as const

export const FEDERATION: Readonly<Record<string, Partial<Record<AnyReason, Provocation>>>> = {
  'issuers.list': each('/issuers', []),
  'issuers.create': each('/issuers', [...CHANGED, 'TOO_MANY_ISSUERS'], issuer),
  'issuers.get': each('/issuers/iss_1', ['ISSUER_NOT_FOUND']),
  'issuers.update': each('/issuers/iss_1', [...CHANGED, 'ISSUER_NOT_FOUND'], { name: 'Other' }),
  'issuers.delete': each('/issuers/iss_1', ['ISSUER_NOT_FOUND']),
  'policies.list': each('/policies', []),
  'policies.create': each('/policies', [...CHANGED, 'TOO_MANY_POLICIES'], policy),
  'policies.get': each(`/policies/${POLICY}`, ['POLICY_NOT_FOUND']),
  'policies.update': each(`/policies/${POLICY}`, [...CHANGED, 'POLICY_NOT_FOUND'], { name: 'Other' }),
  'policies.delete': each(`/policies/${POLICY}`, ['POLICY_NOT_FOUND']),
  'policies.pause': each(`/policies/${POLICY}/pause`, ['POLICY_NOT_FOUND']),
  'policies.resume': each(`/policies/${POLICY}/resume`, ['PLAN_REQUIRED', 'POLICY_NOT_FOUND']),
  'policies.checks.add': each(`/policies/${POLICY}/checks`, [...CHANGED, 'CHECK_EXISTS', 'POLICY_NOT_FOUND'], {
    scope: 'a',
  }),
  'policies.checks.remove': each(`/policies/${POLICY}/checks/scope`, ['CHECK_NOT_FOUND', 'POLICY_NOT_FOUND']),
  'policies.test': each('/policies/test', ['POLICY_NOT_FOUND', 'REQUEST_INVALID'], {
    subject_token: 'a.b.c',
    policy_id: POLICY,
  }),
  'audit.list': each('/audit', ['INVALID_CURSOR', 'REQUEST_INVALID']),
}
