import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethod } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { reasonOf } from '#shared/reasons.ts'

const ATTEMPTS = 4
const FIRST_DELAY_MS = 50
/** Whoever waits for a foreground request gets an answer within 10 s: another attempt may take 3 s to connect. */
const LATEST_RETRY_MS = 5_000

/** Cause of the failure of a call that the peer has certainly not begun; the message says why, for the log. */
export class NotBegun extends Error {
  override readonly name: string = 'NotBegun'
}

/** There was no connection to the peer. */
export class Unreached extends NotBegun {
  override readonly name = 'Unreached'
}

/**
 * UNAVAILABLE, for a call that the peer has certainly not begun: there was no connection, or the peer refused the stream or went
 * away before it took it.
 */
export function notBegun(why: NotBegun): ConnectError {
  return new ConnectError('The peer cannot be reached', Code.Unavailable, undefined, undefined, why)
}

/**
 * Tries a call up to four times: after `notBegun` whatever the method; after another UNAVAILABLE that no service gave a reason
 * for, or that says that this server closes, only a method that declares itself free of side effects or idempotent. Between tries it waits up to 50, 100 and
 * 200 ms, at random (AIP-194). No try begins later than 5 s after the first.
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
      await sleep(delay, undefined, signal === undefined ? {} : { signal }).catch(() => Promise.reject(error))
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
