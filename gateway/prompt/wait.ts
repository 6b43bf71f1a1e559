import { setTimeout as delay } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { Rejection } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import type { Clients } from '../clients.ts'
import type { Lifecycle } from '../http/lifecycle.ts'

/** Time limit of one waiting call, in milliseconds. */
export const WAIT_ROUND_MS = 50_000
/** The pause between two of them, so that calls that fail at once do not keep the process busy. */
const WAIT_PAUSE_MS = 50

/** Resolves when the session is idle, however long it takes. Rejects with NOT_READY when the server stops before. */
export async function waitUntilIdle(
  session: Clients['session'],
  sessionId: string,
  call: Call,
  lifecycle: Lifecycle,
): Promise<void> {
  const stopped = Promise.withResolvers<never>()
  using _ = lifecycle.onDrain(() => stopped.reject(new Rejection('NOT_READY')))
  try {
    await Promise.race([stopped.promise, waitInRounds(session, sessionId, call)])
  } finally {
    call.end()
  }
}

/** Between processes, every unary call has a deadline, so a longer wait takes several calls. */
async function waitInRounds(session: Clients['session'], sessionId: string, call: Call): Promise<void> {
  for (;;) {
    try {
      await session.waitSession({ sessionId }, call.options())
      return
    } catch (error) {
      if (!(error instanceof ConnectError && error.code === Code.DeadlineExceeded)) throw error
    }
    await delay(WAIT_PAUSE_MS)
  }
}
