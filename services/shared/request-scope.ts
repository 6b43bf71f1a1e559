import { AsyncLocalStorage } from 'node:async_hooks'

const scope = new AsyncLocalStorage<string | undefined>()

/** Runs a function whose log lines, and those of all that it starts, carry this request id. */
export function withRequestId<T>(requestId: string | undefined, run: () => T): T {
  return scope.run(requestId, run)
}

/** The request id that log lines carry here. */
export function currentRequestId(): string | undefined {
  return scope.getStore()
}
