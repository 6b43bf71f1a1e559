import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { storeReasons } from '#shared/stores/store-outage.ts'

export const reasons = {
  ...storeReasons,
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'The call names no principal' },
  REQUEST_INVALID: { code: Code.InvalidArgument, message: '{field}: {problem}' },
  CREDENTIAL_REFUSED: { code: Code.Unauthenticated, message: 'The credential is not valid' },
  MANAGEMENT_KEY_REQUIRED: { code: Code.PermissionDenied, message: 'Only management keys can perform this operation' },
  INVALID_CURSOR: { code: Code.InvalidArgument, message: 'The page token does not belong to this list' },
  API_KEY_NOT_FOUND: { code: Code.NotFound, message: 'API key not found: {key_id}' },
  WORKSPACE_NOT_FOUND: { code: Code.NotFound, message: 'Workspace not found: {workspace_id}' },
  OPERATOR_REQUIRED: { code: Code.PermissionDenied, message: 'Only the operator can perform this operation' },
  PLAN_REQUIRED: { code: Code.PermissionDenied, message: 'Federation needs the plan business or enterprise' },
  ORGANIZATION_NOT_FOUND: { code: Code.NotFound, message: 'Organization not found: {organization_id}' },
  ISSUER_NOT_FOUND: { code: Code.NotFound, message: 'Issuer not found: {issuer_id}' },
  POLICY_NOT_FOUND: { code: Code.NotFound, message: 'Policy not found: {policy_id}' },
  CHECK_NOT_FOUND: { code: Code.NotFound, message: 'The policy has no such check: {check}' },
  CHECK_EXISTS: { code: Code.AlreadyExists, message: 'The policy has this check already: {check}' },
  TOO_MANY_ISSUERS: { code: Code.FailedPrecondition, message: 'An organization has at most {most} issuers' },
  TOO_MANY_POLICIES: { code: Code.FailedPrecondition, message: 'An organization has at most {most} policies' },
  GRANT_REFUSED: { code: Code.PermissionDenied, message: 'The subject token was not accepted' },
  SUBJECT_TOKEN_INVALID: { code: Code.InvalidArgument, message: 'The subject token is not a JWT' },
  ISSUER_KEYS_UNAVAILABLE: { code: Code.Unavailable, message: 'The keys of the issuer could not be fetched' },
  SIGNING_UNAVAILABLE: {
    code: Code.Internal,
    message: 'There is no key to sign access tokens with: see PORTICO_KEY_ENCRYPTION_KEY',
  },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    identity: keyof typeof reasons
  }
}
