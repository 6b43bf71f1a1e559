import { type ClientHttp2Session, connect } from 'node:http2'
import { CONNECTION_MEMORY_MEGABYTES } from '#shared/limits.ts'

const PING_INTERVAL_MS = 20_000
const PING_TIMEOUT_MS = 10_000
const STREAM_WINDOW_BYTES = 256 * 1024

/** Keeps one HTTP/2 connection to a peer. */
export interface Http2SessionKeeper extends Disposable {
  /** A connection that takes new calls: the one there is, or a new one after it was lost or sent GOAWAY. */
  session(): ClientHttp2Session
}

/**
 * Makes a keeper; it connects when first asked. An open connection is pinged every 20 s, and given up when no answer comes
 * within 10 s, so that calls to a vanished machine fail instead of hanging. It keeps no process alive.
 */
export function keepHttp2Session(url: string): Http2SessionKeeper {
  let current: ClientHttp2Session | undefined
  const sessions = new Set<ClientHttp2Session>()
  return {
    session() {
      if (current !== undefined && !current.closed && !current.destroyed) return current
      const opened = open(url)
      sessions.add(opened)
      opened.once('close', () => sessions.delete(opened))
      current = opened
      return opened
    },
    [Symbol.dispose]() {
      for (const session of sessions) session.destroy()
    },
  }
}

function open(url: string): ClientHttp2Session {
  const session = connect(url, {
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    maxSessionMemory: CONNECTION_MEMORY_MEGABYTES,
  })
  // Each call hears of a lost connection by itself.
  session.on('error', () => {})
  let unanswered: NodeJS.Timeout | undefined
  const ping = setInterval(() => {
    if (unanswered !== undefined || session.connecting || session.destroyed) return
    unanswered = setTimeout(() => session.destroy(new Error('The peer does not answer')), PING_TIMEOUT_MS).unref()
    session.ping(() => {
      clearTimeout(unanswered)
      unanswered = undefined
    })
  }, PING_INTERVAL_MS).unref()
  session.once('close', () => {
    clearInterval(ping)
    clearTimeout(unanswered)
  })
  return session
}
