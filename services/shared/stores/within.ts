import type { Clock } from '#shared/clock.ts'
import { spendStoreTime, storeTimeLeft } from '#shared/telemetry/request-scope.ts'

/** A call took longer than it may. */
export class Late extends Error {}

/** Waits for a call of a store, at most so long together with the others of its request; then throws {@link Late}. */
export function within<T>(limitMs: number, call: Promise<T>, clock: Clock): Promise<T> {
  const spend = spendStoreTime(() => clock.monotonic())
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = setTimeout(() => reject(new Late(`no answer within ${limitMs} ms`)), storeTimeLeft(limitMs))
  call.then(resolve, reject).finally(() => clearTimeout(late))
  return promise.finally(spend)
}
