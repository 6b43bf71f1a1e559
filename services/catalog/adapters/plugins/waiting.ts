import { setTimeout as delay } from 'node:timers/promises'

/** Whether the time is over; false: the signal aborted before. */
export async function waited(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return delay(milliseconds, true, { signal, ref: false }).catch(() => false)
}

/** Waits, at most until the signal aborts, whose reason it throws then; what was acquired too late is given back. */
export async function untilAborted<T extends Disposable>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([promise, aborted.promise])
  } catch (error) {
    promise.then((late) => late[Symbol.dispose]()).catch(() => {})
    throw error
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
