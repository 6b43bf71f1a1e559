import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import type { Principal } from '#shared/rpc/call-context.ts'

/** Decides whether a caller may still spend. */
export interface KeyChecker {
  /**
   * Returns the terms of the principal's key; rejects with CREDENTIAL_REFUSED if the key is gone, disabled or expired.
   * The local operator has no key, and no limits.
   */
  check(principal: Principal, signal: AbortSignal): Promise<KeyTerms | undefined>
}
