/**
 * Waits for a promise that never rejects, for at most this many milliseconds; returns whether it was settled by then.
 */
export async function settleWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(late.resolve, milliseconds, false)
  try {
    return await Promise.race([promise.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
