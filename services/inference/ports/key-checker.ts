import type { Principal } from '#shared/rpc/call-context.ts'
import type { KeyTerms } from '../domain/ledger/key-terms.ts'

/** Says whether a caller may still spend. */
export interface KeyChecker {
  /**
   * Returns what the principal's key may spend; rejects with CREDENTIAL_REFUSED when it is gone, disabled or expired. The local operator
   * has none, and no limits.
   */
  check(principal: Principal, signal: AbortSignal): Promise<KeyTerms | undefined>
}
