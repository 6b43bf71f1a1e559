import type { Http2Session } from 'node:http2'

/** When a silent connection is given up. */
export interface KeepAlive {
  /** Milliseconds between two checks of the connection. */
  readonly pingMs: number
  /** How many checks may find the same ping unanswered before the connection is destroyed. */
  readonly missedPings: number
}

/** 2 s until the next ping, and 6 s for its response. */
export const PEER_KEEP_ALIVE: KeepAlive = { pingMs: 2_000, missedPings: 3 }

/**
 * Pings a connection for as long as it is open, and destroys it with all its calls when the other side no longer
 * responds. Checks are counted, not time: one that is late because this process was stopped or busy does not count
 * twice.
 */
export function keepAlive(session: Http2Session, { pingMs, missedPings }: KeepAlive): void {
  let answered = true
  let missed = 0
  const look = setInterval(() => {
    if (session.destroyed) return
    if (!answered) {
      missed += 1
      if (missed >= missedPings) session.destroy(new Error('The other side does not respond'))
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
