import type { ClientHttp2Session } from 'node:http2'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { requestHeaders, streamMessages, streamStands, unaryMessage } from '#shared/http2/connect-wire.ts'
import { sealEnvelope } from '#shared/http2/envelope.ts'
import { Http2Call } from '#shared/http2/http2-call.ts'
import { messagePieces } from '#shared/http2/message-pieces.ts'
import { type Http2SessionKeeper, keepHttp2Session, PEER_PATIENCE, type PeerPatience } from '#shared/http2/session.ts'
import { DEFAULT_TIMEOUT_MS } from '#shared/rpc/limits.ts'
import type { PeerReport } from '#shared/rpc/peer-report.ts'
import { retryUnavailable } from '#shared/rpc/retry.ts'
import { openRpcSpan } from '#shared/rpc/rpc-span.ts'
import { onlyMessage } from '#shared/streams.ts'
import { pullInSpan } from '#shared/telemetry/tracing.ts'

/** A peer in another process. */
export interface Peer {
  /** `http://host:port`. */
  readonly url: string
  readonly secret: string
  /** Default: `PEER_PATIENCE`. */
  readonly patience?: PeerPatience
  /** Logs that the peer cannot be used. */
  readonly report?: PeerReport
}

/** A transport over one HTTP/2 connection. Disposal cuts off calls in progress. */
export interface Http2Transport extends Transport, AsyncDisposable {}

const noHeaders = { header: new Headers(), trailer: new Headers() }

/**
 * A transport to a service in another process. It speaks the Connect protocol in binary, uncompressed, over one HTTP/2
 * connection, which is made when first used and remade when lost (ADR 0003). A peer that stays silent is given up
 * (`PeerPatience`). It sends the internal secret and the context of the call, and retries what may be retried
 * (`retryUnavailable`; a stream only until it is established). Server streaming is the only kind of stream; headers and
 * trailers of responses are not read.
 */
export function createHttp2Transport({ url, secret, patience = PEER_PATIENCE, report }: Peer): Http2Transport {
  const keeper = keepHttp2Session(url, patience)
  const observed = async <T>(attempt: () => Promise<T>): Promise<T> => {
    try {
      return await attempt()
    } catch (error) {
      report?.failed(error)
      throw error
    }
  }
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const body = messagePieces(method.input, create(method.input, input))
      const left = countdown(signal, timeoutMs ?? DEFAULT_TIMEOUT_MS)
      const span = openRpcSpan(method, 'client')
      try {
        const attempt = async () => {
          const session = keeper.session ?? (await connected(keeper, signal, left()))
          const timeoutMs = left()
          const headers = requestHeaders(method, { secret, timeoutMs, header, contextValues, span })
          // With this header, the peer allocates the memory once instead of joining pieces.
          headers['content-length'] = sizeOf(body)
          return unaryMessage(method.output, new Http2Call(session, { headers, body, signal, timeoutMs }))
        }
        const message = await retryUnavailable(method, signal, () => observed(attempt))
        report?.answered()
        span?.end()
        return { stream: false, service: method.parent, method, ...noHeaders, message }
      } catch (error) {
        span?.end({ error })
        throw error
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const body = [sealEnvelope(toBinary(method.input, create(method.input, await onlyMessage(input))))]
      const left = countdown(signal, timeoutMs ?? 0)
      const span = openRpcSpan(method, 'client')
      try {
        const attempt = async () => {
          const session = keeper.session ?? (await connected(keeper, signal, left()))
          const timeoutMs = left()
          const headers = requestHeaders(method, { secret, timeoutMs, header, contextValues, span })
          const call = new Http2Call(session, { headers, body, signal, timeoutMs })
          await streamStands(call)
          return call
        }
        const call = await retryUnavailable(method, signal, () => observed(attempt))
        const messages = streamMessages(method.output, call, report)
        const message = span === undefined ? messages : pullInSpan(span, messages)
        return { stream: true, service: method.parent, method, ...noHeaders, message }
      } catch (error) {
        span?.end({ error })
        throw error
      }
    },
    async [Symbol.asyncDispose]() {
      keeper[Symbol.dispose]()
    },
  }
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Waits for the connection, but no longer than the call may take. */
async function connected(
  keeper: Http2SessionKeeper,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<ClientHttp2Session> {
  const over = Promise.withResolvers<never>()
  const cancel = (): void => over.reject(new ConnectError('The call was canceled', Code.Canceled))
  const expire = (): void => over.reject(new ConnectError('The deadline has passed', Code.DeadlineExceeded))
  const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs)
  signal?.addEventListener('abort', cancel)
  try {
    return await Promise.race([keeper.connect(), over.promise])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}

/**
 * Returns how many milliseconds a call has left; throws if there are none, or if it was aborted. A limit that is not
 * above zero is no limit.
 */
function countdown(signal: AbortSignal | undefined, timeoutMs: number): () => number | undefined {
  const deadline = timeoutMs > 0 ? performance.now() + timeoutMs : undefined
  return () => {
    if (signal?.aborted) throw new ConnectError('The call was canceled', Code.Canceled)
    if (deadline === undefined) return undefined
    const left = deadline - performance.now()
    if (left <= 0) throw new ConnectError('The deadline has passed', Code.DeadlineExceeded)
    return left
  }
}
