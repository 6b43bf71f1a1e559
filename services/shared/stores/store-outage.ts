import { setTimeout as delay } from 'node:timers/promises'
import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'

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
 * What a store throws when it can't be reached, does not answer in time, or can't be written. `problem` is for operators; no
 * client sees it. `outcomeUnknown`: a write may have been done all the same. `damaged`: what is stored can't be read, and the
 * same call will fail again.
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

/** Whether the same call may be made again, and may succeed then: nothing was done, and what is stored can be read. */
export function mayRepeat(error: unknown): boolean {
  return isStoreUnavailable(error) && !isDamaged(error) && (error as Rejection).metadata.outcome !== 'unknown'
}

/** Whether a call failed because what is stored can't be read. */
export function isDamaged(error: unknown): boolean {
  return isStoreUnavailable(error) && (error as Rejection).metadata.store === 'damaged'
}

/** Whether a call failed because a store is away, ours or a peer's: the same call may succeed later. */
export function isStoreUnavailable(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'STORE_UNAVAILABLE'
}

/** Milliseconds until a store that is away is tried again. */
export const STORE_AGAIN_MS = 1_000

/**
 * Does work that may be done twice, again after a second while the store is away, but gives the store up when it was away
 * for so long, in milliseconds, or once it is stopped. Whatever else the work throws is thrown.
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
