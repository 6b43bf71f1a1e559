/** Waits; throws the signal's reason when it aborts before. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>

/** Waits by the system's timers. */
export const pause: Pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })

/**
 * Waits for the next turn of the event loop. Without that, a provider that sends a lot at once would leave readers of
 * its events no time to receive it.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
