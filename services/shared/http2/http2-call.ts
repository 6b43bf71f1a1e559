import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import { NotBegun, notBegun } from '#shared/rpc/retry.ts'

/** The headers of a response, including `:status`. */
export type ResponseHead = IncomingHttpHeaders & IncomingHttpStatusHeader

/** What a call sends, and when it gives up. */
export interface Http2CallOptions {
  readonly headers: OutgoingHttpHeaders
  /** In pieces, which must not change until the call is over. */
  readonly body: readonly Uint8Array[]
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number | undefined
}

const BUFFER_BYTES = 64 * 1024

/**
 * One request and its response on an HTTP/2 connection. Whatever ends it early (the caller's signal, its deadline, the
 * peer, the connection) surfaces as a ConnectError from `head` or `read`. Giving up resets the stream, so that the peer
 * is notified. Apart from a small buffer, what the caller does not read stays with the peer.
 */
export class Http2Call {
  readonly #stream: ClientHttp2Stream
  readonly #signal: AbortSignal | undefined
  #timer: NodeJS.Timeout | undefined
  #head: ResponseHead | undefined
  #chunks: Uint8Array[] = []
  #buffered = 0
  #ended = false
  #failure: ConnectError | undefined
  #wake: (() => void) | undefined
  readonly #onAbort = (): void => this.#fail(new ConnectError('The call was canceled', Code.Canceled))

  constructor(session: ClientHttp2Session, { headers, body, signal, timeoutMs }: Http2CallOptions) {
    this.#signal = signal
    this.#stream = request(session, headers)
    this.#stream.on('response', (head) => {
      this.#head = head
      this.#wake?.()
    })
    this.#stream.on('data', (chunk: Uint8Array) => this.#receive(chunk))
    this.#stream.on('end', () => this.#finish())
    this.#stream.on('error', (error) => this.#fail(failureOf(error, this.#stream.rstCode)))
    this.#stream.on('close', () => {
      if (!this.#ended) this.#fail(failureOf(undefined, this.#stream.rstCode))
    })
    for (const piece of body.slice(0, -1)) this.#stream.write(piece)
    this.#stream.end(body.at(-1))
    signal?.addEventListener('abort', this.#onAbort)
    if (timeoutMs !== undefined) {
      const expire = (): void => this.#fail(new ConnectError('The deadline has passed', Code.DeadlineExceeded))
      this.#timer = setTimeout(expire, timeoutMs)
    }
  }

  /** The headers of the response. */
  async head(): Promise<ResponseHead> {
    for (;;) {
      if (this.#head !== undefined) return this.#head
      // A stream may be closed without an error before anything was sent.
      if (this.#ended) throw failureOf(undefined, undefined)
      await this.#news()
    }
  }

  /** The next piece of the response body; undefined at its end. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift()
      if (chunk !== undefined) {
        this.#buffered -= chunk.byteLength
        if (this.#buffered === 0 && this.#stream.isPaused()) this.#stream.resume()
        return chunk
      }
      if (this.#ended) return undefined
      await this.#news()
    }
  }

  /** Ends the call, and resets the stream unless the response is complete. */
  close(): void {
    if (!this.#ended) this.#fail(new ConnectError('The call is over', Code.Canceled))
  }

  #news(): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        this.#wake = undefined
        if (this.#failure === undefined) resolve()
        else reject(this.#failure)
      }
      this.#wake = wake
      if (this.#failure !== undefined) wake()
    })
  }

  #receive(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#buffered += chunk.byteLength
    if (this.#buffered >= BUFFER_BYTES) this.#stream.pause()
    this.#wake?.()
  }

  // Node ends a stream that was reset as if it were complete; the code of the reset distinguishes the two.
  #finish(): void {
    const { rstCode } = this.#stream
    if (rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR) this.#fail(failureOf(undefined, rstCode))
    if (this.#failure !== undefined) return
    this.#ended = true
    this.#release()
    this.#wake?.()
  }

  #fail(failure: ConnectError): void {
    if (this.#failure !== undefined || this.#ended) return
    this.#failure = failure
    this.#chunks = []
    this.#release()
    this.#stream.close(constants.NGHTTP2_CANCEL)
    this.#wake?.()
  }

  #release(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    clearTimeout(this.#timer)
  }
}

function request(session: ClientHttp2Session, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  try {
    return session.request(headers)
  } catch (error) {
    // The connection was closed just now, or accepts no more calls: nothing was sent.
    throw notBegun(new NotBegun('the connection accepts no more calls', { cause: error }))
  }
}

// If this side gave up, the failure is already set. So a reset that arrives here was sent by the peer.
function failureOf(error: unknown, resetCode: number | undefined): ConnectError {
  switch (resetCode) {
    // This also happens to calls beyond the last one that a GOAWAY permits (RFC 9113 section 8.7).
    case constants.NGHTTP2_REFUSED_STREAM:
      return notBegun(new NotBegun('the peer refused the call', { cause: error }))
    case constants.NGHTTP2_PROTOCOL_ERROR:
    case constants.NGHTTP2_FLOW_CONTROL_ERROR:
    case constants.NGHTTP2_FRAME_SIZE_ERROR:
    case constants.NGHTTP2_COMPRESSION_ERROR:
      return new ConnectError('The peer broke the protocol', Code.Internal, undefined, undefined, error)
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new ConnectError('The peer requests fewer calls', Code.ResourceExhausted, undefined, undefined, error)
    default:
      return new ConnectError('The peer cannot be reached', Code.Unavailable, undefined, undefined, error)
  }
}
