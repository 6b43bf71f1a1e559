import { setTimeout as delay } from 'node:timers/promises'
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
 * What a store throws when it can't be reached, does not answer in time, or can't be written. `problem` is for operators; no
 * client sees it. `outcomeUnknown`: a write may have been done all the same.
 */
export function storeUnavailable(
  problem: string,
  { cause, outcomeUnknown }: { readonly cause?: unknown; readonly outcomeUnknown?: boolean } = {},
): Rejection {
  return new Rejection('STORE_UNAVAILABLE', { problem, ...(outcomeUnknown && { outcome: 'unknown' }) }, { cause })
}

/**
 * Does work, and does it again after a second while the store is away. Whatever else it throws is thrown, as is what `pause`
 * throws, and an outage after which nobody knows whether the work was done.
 */
export async function whenStoreIsBack<T>(pause: (ms: number) => Promise<void>, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isStoreUnavailable(error) || (error as Rejection).metadata.outcome === 'unknown') throw error
    }
    await pause(AGAIN_MS)
  }
}

const AGAIN_MS = 1_000

/** Whether a call failed because a store is away, ours or a peer's: the same call may succeed later. */
export function isStoreUnavailable(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'STORE_UNAVAILABLE'
}

/** Likewise, but gives the store up when it was away for so long, in milliseconds. */
export function forStoreWithin<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let left = ms
  return whenStoreIsBack(async (wait) => {
    left -= wait
    if (left < 0) throw storeUnavailable(`it was away for more than ${ms} ms`)
    await delay(wait, undefined, { ref: false })
  }, work)
}
