import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/rejection.ts'
import { storeReasons } from '#shared/stores/store-outage.ts'

/** What the identity service rejects with. */
export const reasons = {
  ...storeReasons,
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'The call names no principal' },
  REQUEST_INVALID: { code: Code.InvalidArgument, message: '{field}: {problem}' },
  CREDENTIAL_REFUSED: { code: Code.Unauthenticated, message: 'The credential is not valid' },
  MANAGEMENT_KEY_REQUIRED: { code: Code.PermissionDenied, message: 'Only management keys can perform this operation' },
  INVALID_CURSOR: { code: Code.InvalidArgument, message: 'The page token is not one of this list' },
  API_KEY_NOT_FOUND: { code: Code.NotFound, message: 'API key not found: {key_id}' },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    identity: keyof typeof reasons
  }
}
