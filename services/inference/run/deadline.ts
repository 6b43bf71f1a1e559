/** A signal with a time limit; disposing it stops the timer. */
export type Deadline = Disposable & { readonly signal: AbortSignal }

/**
 * A signal that aborts with the caller's, for the same reason, or with another reason when the time is up; disposing it
 * stops the timer. `AbortSignal.any` would do the same at several times the cost.
 */
export function startDeadline(caller: AbortSignal, ms: number, reason: () => Error): Deadline {
  const controller = new AbortController()
  const follow = (): void => controller.abort(caller.reason)
  if (caller.aborted) follow()
  else caller.addEventListener('abort', follow, { once: true })
  const timer = setTimeout(() => controller.abort(reason()), ms)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      caller.removeEventListener('abort', follow)
    },
  }
}
