/** Waits for a promise, or until a signal aborts. */
export async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const aborted = Promise.withResolvers<void>()
  const onAbort = (): void => aborted.resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([promise, aborted.promise])
  signal.removeEventListener('abort', onAbort)
}
