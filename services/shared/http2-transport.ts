import type { Interceptor, Transport } from '@connectrpc/connect'
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { callContextKey } from '#shared/call-context.ts'
import { headersOfContext, SECRET_HEADER } from '#shared/call-metadata.ts'
import { DEFAULT_TIMEOUT_MS, MAX_MESSAGE_BYTES } from '#shared/limits.ts'

/** A peer in another process. */
export interface Peer {
  /** `http://host:port`. */
  readonly url: string
  readonly secret: string
}

/** A transport over one HTTP/2 connection. */
export interface Http2Transport extends Transport, AsyncDisposable {}

/**
 * A Connect transport to a service in another process. It sends the internal secret and the call's context, connects when
 * it is first used, and connects again when the connection is lost.
 */
export function createHttp2Transport(peer: Peer): Http2Transport {
  const metadata: Interceptor = (next) => (request) => {
    request.header.set(SECRET_HEADER, peer.secret)
    for (const [name, value] of Object.entries(headersOfContext(request.contextValues.get(callContextKey)))) {
      request.header.set(name, value)
    }
    return next(request)
  }
  const sessionManager = new Http2SessionManager(peer.url)
  const transport = createConnectTransport({
    sessionManager,
    baseUrl: peer.url,
    httpVersion: '2',
    acceptCompression: [],
    interceptors: [metadata],
    readMaxBytes: MAX_MESSAGE_BYTES,
    defaultTimeoutMs: DEFAULT_TIMEOUT_MS,
  })
  return {
    ...transport,
    async [Symbol.asyncDispose]() {
      sessionManager.abort()
    },
  }
}
