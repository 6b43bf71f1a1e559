import { Code } from '@connectrpc/connect'
import { type ReasonTable, Rejection } from '#shared/rejection.ts'

/** Why a service whose store is away refuses; for its reason table. */
export const storeReasons = {
  STORE_UNAVAILABLE: { code: Code.Unavailable, message: 'The store is unavailable', retryAfterSeconds: 2 },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    store: keyof typeof storeReasons
  }
}

/**
 * What a store's adapter throws when the store can't be reached, does not answer in time, or can't be written. Whether a
 * write was done all the same is unknown. `problem` is for operators; no client sees it.
 */
export function storeUnavailable(problem: string, cause?: unknown): Rejection {
  return new Rejection('STORE_UNAVAILABLE', { problem }, { cause })
}

/** Whether a call failed because a store is away, ours or a peer's: the same call may succeed later. */
export function isStoreUnavailable(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'STORE_UNAVAILABLE'
}
