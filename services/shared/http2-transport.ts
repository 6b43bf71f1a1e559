import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { requestHeaders, streamMessages, streamStands, unaryMessage } from '#shared/connect-wire.ts'
import { sealEnvelope } from '#shared/envelope.ts'
import { Http2Call, type Http2CallOptions } from '#shared/http2-call.ts'
import { keepHttp2Session } from '#shared/http2-session.ts'
import { DEFAULT_TIMEOUT_MS } from '#shared/limits.ts'
import { retryUnavailable } from '#shared/retry.ts'
import { openRpcSpan } from '#shared/rpc-span.ts'
import { onlyMessage } from '#shared/streams.ts'
import { pullInSpan } from '#shared/tracing.ts'

/** A peer in another process. */
export interface Peer {
  /** `http://host:port`. */
  readonly url: string
  readonly secret: string
}

/** A transport over one HTTP/2 connection. Disposal cuts off what is under way. */
export interface Http2Transport extends Transport, AsyncDisposable {}

const noHeaders = { header: new Headers(), trailer: new Headers() }

/**
 * A transport to a service in another process: the Connect protocol in binary, without compression, over one HTTP/2
 * connection made when first used and remade when lost (ADR 0003). It sends the internal secret and the call's context, and
 * tries again what may be tried again (`retryUnavailable`; a stream only until it stands). Of streams it offers server
 * streaming; headers and trailers of answers are not read.
 */
export function createHttp2Transport({ url, secret }: Peer): Http2Transport {
  const keeper = keepHttp2Session(url)
  const start = (options: Http2CallOptions): Http2Call => new Http2Call(keeper.session(), options)
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const body = toBinary(method.input, create(method.input, input))
      const left = countdown(signal, timeoutMs ?? DEFAULT_TIMEOUT_MS)
      const span = openRpcSpan(method, 'client')
      try {
        const message = await retryUnavailable(method, signal, () => {
          const headers = requestHeaders(method, { secret, timeoutMs: left(), header, contextValues, span })
          return unaryMessage(method.output, start({ headers, body, signal, timeoutMs: left() }))
        })
        span?.end()
        return { stream: false, service: method.parent, method, ...noHeaders, message }
      } catch (error) {
        span?.end({ error })
        throw error
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const body = sealEnvelope(toBinary(method.input, create(method.input, await onlyMessage(input))))
      const left = countdown(signal, timeoutMs ?? 0)
      const span = openRpcSpan(method, 'client')
      try {
        const call = await retryUnavailable(method, signal, async () => {
          const headers = requestHeaders(method, { secret, timeoutMs: left(), header, contextValues, span })
          const attempt = start({ headers, body, signal, timeoutMs: left() })
          await streamStands(attempt)
          return attempt
        })
        const messages = streamMessages(method.output, call)
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

/** Tells how many milliseconds a call has left; throws when it has none or was aborted. Not above zero: no limit. */
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
