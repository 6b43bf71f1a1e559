import { setTimeout as delay } from 'node:timers/promises'
import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'

/** Why a service refuses while its store is unavailable; for its table of reasons. */
export const storeReasons = {
  STORE_UNAVAILABLE: { code: Code.Unavailable, message: 'The store is unavailable', retryAfterSeconds: 2 },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    store: keyof typeof storeReasons
  }
}

/**
 * What a store throws if it cannot be reached, does not answer in time, or cannot be written. `problem` is for
 * operators, and no client sees it. `outcomeUnknown`: a write may have been carried out nevertheless. `damaged`: the
 * stored data cannot be read, and the same call will fail again.
 */
export function storeUnavailable(
  problem: string,
  {
    cause,
    outcomeUnknown,
    damaged,
  }: { readonly cause?: unknown; readonly outcomeUnknown?: boolean; readonly damaged?: boolean } = {},
): Rejection {
  const metadata = { problem, ...(outcomeUnknown && { outcome: 'unknown' }), ...(damaged && { store: 'damaged' }) }
  return new Rejection('STORE_UNAVAILABLE', metadata, { cause })
}

/** Whether the same call may be repeated, and may then succeed: nothing was done, and the stored data can be read. */
export function mayRepeat(error: unknown): boolean {
  return isStoreUnavailable(error) && !isDamaged(error) && error.metadata.outcome !== 'unknown'
}

/** Whether a call failed because the stored data cannot be read. */
export function isDamaged(error: unknown): boolean {
  return isStoreUnavailable(error) && error.metadata.store === 'damaged'
}

/** Whether a call failed because a store, ours or a peer's, is unavailable; the same call may succeed later. */
export function isStoreUnavailable(error: unknown): error is Rejection {
  return error instanceof Rejection && error.reason === 'STORE_UNAVAILABLE'
}

/** Milliseconds before an unavailable store is tried again. */
export const STORE_AGAIN_MS = 1_000

/**
 * Does work that may be done twice, and repeats it every second while the store is unavailable. It gives up after `ms`
 * milliseconds, or once it is stopped. Other errors are thrown.
 */
export async function forStoreWithin<T>(ms: number, work: () => Promise<T>, stopped?: AbortSignal): Promise<T> {
  for (let left = ms; ; left -= STORE_AGAIN_MS) {
    try {
      return await work()
    } catch (error) {
      if (!isStoreUnavailable(error) || isDamaged(error) || left <= 0 || stopped?.aborted) throw error
    }
    await delay(STORE_AGAIN_MS, undefined, { ref: false })
  }
}
