import type { Reason } from '#shared/reasons.ts'

/** The challenge for a request without a credential, which names no error. */
export const BEARER_CHALLENGE = 'Bearer realm="portico"'

/**
 * The header that every 401 has (RFC 9110 section 11.6.1): how to authenticate, and that a key is not valid (RFC 6750
 * section 3).
 */
export function challengeHeader({ reason, metadata }: Reason): readonly string[] {
  const own = reason === 'CREDENTIAL_REFUSED' ? `${BEARER_CHALLENGE}, error="invalid_token"` : BEARER_CHALLENGE
  return ['www-authenticate', metadata.challenge ?? own]
}
