import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { reasonOf } from '#shared/rejection.ts'

const ATTEMPTS = 4
const FIRST_DELAY_MS = 50

/**
 * Tries a call up to four times: only a method that declares itself free of side effects or idempotent, and only after an
 * UNAVAILABLE that no service gave a reason for. Between tries it waits up to 50, 100 and 200 ms, at random (AIP-194).
 */
export async function retryUnavailable<T>(
  method: DescMethod,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt()
    } catch (error) {
      if (tried === ATTEMPTS || method.idempotency === Idempotency.IDEMPOTENCY_UNKNOWN || !isUnavailable(error))
        throw error
      const delay = FIRST_DELAY_MS * 2 ** (tried - 1) * Math.random()
      await sleep(delay, undefined, signal === undefined ? {} : { signal }).catch(() => Promise.reject(error))
    }
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unavailable && reasonOf(error) === undefined
}
