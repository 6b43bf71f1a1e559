import type { Http2Session } from 'node:http2'

/** When a silent connection is given up. */
export interface KeepAlive {
  /** Between two looks at the connection, in milliseconds. */
  readonly pingMs: number
  /** Looks at which the same ping is still unanswered before the connection is destroyed. */
  readonly missedPings: number
}

/** 2 s until the next ping, and 6 s for its answer. */
export const PEER_KEEP_ALIVE: KeepAlive = { pingMs: 2_000, missedPings: 3 }

/**
 * Pings a connection for as long as it is open, and destroys it, with all its calls, when the other side no longer answers.
 * Looks are counted, not time: one that comes late, because this process was stopped or busy, does not count double.
 */
export function keepAlive(session: Http2Session, { pingMs, missedPings }: KeepAlive): void {
  let answered = true
  let missed = 0
  const look = setInterval(() => {
    if (session.destroyed) return
    if (!answered) {
      missed += 1
      if (missed >= missedPings) session.destroy(new Error('The other side does not answer'))
      return
    }
    answered = false
    missed = 0
    session.ping(() => {
      answered = true
    })
  }, pingMs).unref()
  session.once('close', () => clearInterval(look))
}
