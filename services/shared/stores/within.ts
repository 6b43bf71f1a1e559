import type { Clock } from '#shared/clock.ts'
import { spendStoreTime, storeTimeLeft } from '#shared/telemetry/request-scope.ts'

/** A call took too long. */
export class Late extends Error {}

/**
 * Waits for a call of a store, within the time limit that it shares with the other calls of its request; then throws
 * {@link Late}.
 */
export function within<T>(limitMs: number, call: Promise<T>, clock: Clock): Promise<T> {
  const spend = spendStoreTime(() => clock.monotonic())
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = setTimeout(() => reject(new Late(`no answer within ${limitMs} ms`)), storeTimeLeft(limitMs))
  call.then(resolve, reject).finally(() => clearTimeout(late))
  return promise.finally(spend)
}
