import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { answerOnWire } from './wire-errors.ts'

/** How long clients may take, in milliseconds. */
export interface HttpLimits {
  /** From the connection, or the first byte of a request, to the last of its headers. */
  readonly headersMs: number
  /** From the first byte of a request to the last. */
  readonly requestMs: number
  /**
   * Between two requests. Longer than proxies usually wait, which otherwise reuse a connection that is being closed.
   */
  readonly idleMs: number
  /** Without reading a byte of the answer. */
  readonly stalledMs: number
  /** How often the first two are checked. */
  readonly checkMs: number
}

/** The default limits. At 1 Mbit/s, the largest body arrives in time. */
const HTTP_LIMITS: HttpLimits = {
  headersMs: 20_000,
  requestMs: 300_000,
  idleMs: 65_000,
  stalledMs: 60_000,
  checkMs: 5_000,
}

/**
 * Makes the HTTP server. What node:http refuses by itself (malformed or overlong headers, requests that do not come to
 * their end, CONNECT) is answered in the JSON of its API family, too, and a client that neither reads nor goes is cut
 * off.
 */
export function createHttpServer(handle: RequestListener, limits: HttpLimits = HTTP_LIMITS): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: limits.checkMs,
      // The app checks this, and answers with a body.
      requireHostHeader: false,
    },
    handle,
  )
  server.on('clientError', answerOnWire)
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    answerOnWire({ code: 'CONNECT', target: request.url }, socket)
  })
  // The app sends `100 Continue` once it wants the body, and refuses other expectations; node:http would send it at
  // once, and refuse without a body.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)
  server.setTimeout(limits.stalledMs, endStalled)
  return server
}

/** Also called for connections that wait for an answer, or for the next request. */
function endStalled(socket: Socket): void {
  const { _httpMessage: answering } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
  if (answering == null || socket.writableLength > 0) socket.destroy()
}
