import { Code, ConnectError } from '@connectrpc/connect'
import type { PeerCall } from '#services/session/ports/peer-call.ts'
import { reasonOf } from '#shared/reasons.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'

/**
 * What a failed call to a peer throws here: the caller's own reason when it was the caller who ended it, the peer's
 * rejection, or PEER_UNAVAILABLE (metadata `peer`, `problem`) when it can't be reached or does not answer in time.
 */
export function peerError(peer: string, error: unknown, { signal }: Pick<PeerCall, 'signal'>): unknown {
  if (signal.aborted) return signal.reason
  const reason = reasonOf(error)
  if (reason !== undefined) return new Rejection(reason.reason as AnyReason, { ...reason.metadata }, { cause: error })
  if (!(error instanceof ConnectError)) return error
  // A peer that goes away in the middle of a stream cancels it.
  const away = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled].includes(error.code)
  return away ? new Rejection('PEER_UNAVAILABLE', { peer, problem: error.rawMessage }, { cause: error }) : error
}

/** Wraps a stream of a peer, so that it throws what `peerError` returns. */
export async function* peerStream<T>(
  peer: string,
  stream: AsyncIterable<T>,
  call: Pick<PeerCall, 'signal'>,
): AsyncGenerator<T> {
  try {
    yield* stream
  } catch (error) {
    throw peerError(peer, error, call)
  }
}
