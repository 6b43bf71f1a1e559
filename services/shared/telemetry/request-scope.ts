import { AsyncLocalStorage } from 'node:async_hooks'

interface Scope {
  readonly requestId: string | undefined
  readonly storeTime?: { spentMs: number }
}

const scope = new AsyncLocalStorage<Scope>()

/** Runs a function. Its log lines, and those of everything that it starts, carry this request id. */
export function withRequestId<T>(requestId: string | undefined, run: () => T): T {
  return scope.run({ requestId }, run)
}

/** The request id of the current scope. */
export function currentRequestId(): string | undefined {
  return scope.getStore()?.requestId
}

let storeTimeIsLimited = false

/** Counts the time that calls to stores take; called by whoever limits it. */
export function limitStoreTime(): void {
  storeTimeIsLimited = true
}

/** Runs a function whose calls to stores together may take as long as a single call. */
export function withStoreTime<T>(run: () => T): T {
  if (!storeTimeIsLimited) return run()
  return scope.run({ requestId: currentRequestId(), storeTime: { spentMs: 0 } }, run)
}

/** How many milliseconds are left of the time limit for calls to a store; never below 0. */
export function storeTimeLeft(limitMs: number): number {
  return Math.max(0, limitMs - (scope.getStore()?.storeTime?.spentMs ?? 0))
}

/** Returns a function to be called when a call to a store, which begins now, has ended. */
export function spendStoreTime(now: () => number): () => void {
  const time = scope.getStore()?.storeTime
  const since = now()
  return () => {
    if (time !== undefined) time.spentMs += now() - since
  }
}
