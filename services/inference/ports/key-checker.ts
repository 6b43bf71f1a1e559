import type { Principal } from '#shared/rpc/call-context.ts'

/** Says whether a caller may still spend. */
export interface KeyChecker {
  /** Rejects with CREDENTIAL_REFUSED when the principal's key is gone, disabled or expired. The local operator has none. */
  check(principal: Principal, signal: AbortSignal): Promise<void>
}
