import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { reasonOf } from '#shared/reasons.ts'

const ATTEMPTS = 4
const FIRST_DELAY_MS = 50
/** Whoever waits for a foreground request gets a response within 10 s, and another attempt may take 3 s to connect. */
const LATEST_RETRY_MS = 5_000

/** The cause in the error of a call that the peer has certainly not begun; the message explains it in the log. */
export class NotBegun extends Error {
  override readonly name: string = 'NotBegun'
}

/** There was no connection to the peer. */
export class Unreached extends NotBegun {
  override readonly name = 'Unreached'
}

/**
 * Makes UNAVAILABLE for a call that the peer has certainly not begun: there was no connection, or the peer refused the
 * stream or went away before accepting it.
 */
export function notBegun(why: NotBegun): ConnectError {
  return new ConnectError('The peer cannot be reached', Code.Unavailable, undefined, undefined, why)
}

/**
 * Tries a call up to four times. After `notBegun` it retries any method; after another UNAVAILABLE, which has no reason
 * or says that the server closes, it retries only methods that are declared idempotent or free of side effects. Between
 * attempts it waits up to 50, 100 and 200 ms, at random (AIP-194). No attempt begins later than 5 s after the first.
 */
export async function retryUnavailable<T>(
  method: DescMethod,
  signal: AbortSignal | undefined,
  attempt: () => Promise<T>,
): Promise<T> {
  const started = performance.now()
  for (let tried = 1; ; tried++) {
    try {
      return await attempt()
    } catch (error) {
      const spent = tried === ATTEMPTS || performance.now() - started > LATEST_RETRY_MS
      if (spent || !isRepeatable(method, error)) throw error
      const delay = FIRST_DELAY_MS * 2 ** (tried - 1) * Math.random()
      await sleep(delay, undefined, { signal }).catch(() => Promise.reject(error))
    }
  }
}

function isRepeatable(method: DescMethod, error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false
  if (error.cause instanceof NotBegun) return true
  if (method.idempotency === Idempotency.IDEMPOTENCY_UNKNOWN) return false
  const reason = reasonOf(error)?.reason
  return error.code === Code.Unavailable && (reason === undefined || reason === 'SERVICE_CLOSING')
}
