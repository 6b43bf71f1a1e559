/** A signal that aborts with the reason when the time is up; disposing it stops the clock. */
export function startDeadline(ms: number, reason: () => Error): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(reason()), ms)
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) }
}
