import { AsyncLocalStorage } from 'node:async_hooks'

interface Scope {
  readonly requestId: string | undefined
  readonly storeTime?: { spentMs: number }
}

const scope = new AsyncLocalStorage<Scope>()

/** Runs a function whose log lines, and those of all that it starts, carry this request id. */
export function withRequestId<T>(requestId: string | undefined, run: () => T): T {
  return scope.run({ requestId }, run)
}

/** The request id that log lines carry here. */
export function currentRequestId(): string | undefined {
  return scope.getStore()?.requestId
}

let storeTimeIsLimited = false

/** Has the time be counted that calls to stores take; whoever limits it does. */
export function limitStoreTime(): void {
  storeTimeIsLimited = true
}

/** Runs a function that may wait for its store as long as a single call may, all its calls taken together. */
export function withStoreTime<T>(run: () => T): T {
  if (!storeTimeIsLimited) return run()
  return scope.run({ requestId: currentRequestId(), storeTime: { spentMs: 0 } }, run)
}

/** What is left of the limit of a call to a store, in milliseconds; never below 0. */
export function storeTimeLeft(limitMs: number): number {
  return Math.max(0, limitMs - (scope.getStore()?.storeTime?.spentMs ?? 0))
}

/** Makes a function that is called when a call to a store, which begins now, has ended. */
export function spendStoreTime(now: () => number): () => void {
  const time = scope.getStore()?.storeTime
  const since = now()
  return () => {
    if (time !== undefined) time.spentMs += now() - since
  }
}
