import { type ClientHttp2Session, connect } from 'node:http2'
import { type KeepAlive, keepAlive, PEER_KEEP_ALIVE } from '#shared/http2/keep-alive.ts'
import { CONNECTION_MEMORY_MEGABYTES } from '#shared/rpc/limits.ts'
import { NotBegun, notBegun, Unreached } from '#shared/rpc/retry.ts'

const STREAM_WINDOW_BYTES = 256 * 1024

/** How long to wait for a peer before giving it up. */
export interface PeerPatience extends KeepAlive {
  /** Milliseconds from the first packet of a connection until the peer has sent its HTTP/2 settings. */
  readonly connectMs: number
}

/** A connection takes at most 3 s to be made, and is given up within 8 s after its packets vanish. */
export const PEER_PATIENCE: PeerPatience = { ...PEER_KEEP_ALIVE, connectMs: 3_000 }

/** Keeps one HTTP/2 connection to a peer. */
export interface Http2SessionKeeper extends Disposable {
  /**
   * The connection, if there is one that accepts calls: there is none before the first, after a loss and after GOAWAY.
   */
  readonly session: ClientHttp2Session | undefined
  /**
   * Connects, once for all who wait for it. Rejects (`notBegun`) if the peer cannot be reached in time, and after
   * disposal.
   */
  connect(): Promise<ClientHttp2Session>
}

/**
 * Keeps a connection. It is pinged while it is open, used or not, and given up when no response comes, so that calls to
 * a vanished machine fail instead of hanging. It does not keep the process alive.
 */
export function keepHttp2Session(url: string, patience: PeerPatience): Http2SessionKeeper {
  let current: ClientHttp2Session | undefined
  let connecting: Promise<ClientHttp2Session> | undefined
  const sessions = new Set<ClientHttp2Session>()
  let disposed = false
  const open = async (): Promise<ClientHttp2Session> => {
    // A call that was cut off tries again here.
    if (disposed) throw notBegun(new NotBegun('the transport is closed'))
    const session = connect(url, {
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: CONNECTION_MEMORY_MEGABYTES,
    })
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
    await established(session, patience.connectMs)
    keepAlive(session, patience)
    current = session
    return session
  }
  return {
    get session() {
      return current === undefined || current.closed || current.destroyed ? undefined : current
    },
    connect() {
      connecting ??= open().finally(() => {
        connecting = undefined
      })
      return connecting
    },
    [Symbol.dispose]() {
      disposed = true
      for (const session of sessions) session.destroy()
    },
  }
}

/** Waits for the peer's settings: a server that accepts a connection and sends nothing is not a peer. */
function established(session: ClientHttp2Session, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (problem: string, cause?: Error): void => {
      clearTimeout(timer)
      reject(notBegun(new Unreached(problem, { cause })))
    }
    const timer = setTimeout(() => {
      fail(`no HTTP/2 connection within ${timeoutMs} ms`)
      session.destroy()
    }, timeoutMs).unref()
    session.once('remoteSettings', () => {
      clearTimeout(timer)
      resolve()
    })
    // Afterwards, each call notices a lost connection by itself.
    session.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message, error))
    session.once('close', () => fail('the connection was closed'))
  })
}
