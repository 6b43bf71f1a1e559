import type { OutgoingHttpHeaders } from 'node:http2'
import { type DescMessage, type DescMethod, fromBinary, type MessageShape } from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues } from '@connectrpc/connect'
import {
  codeFromHttpStatus,
  endStreamFlag,
  endStreamFromJson,
  errorFromJsonBytes,
} from '@connectrpc/connect/protocol-connect'
import { EnvelopeReader } from '#shared/http2/envelope.ts'
import type { Http2Call, ResponseHead } from '#shared/http2/http2-call.ts'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { headersOfContext, SECRET_HEADER } from '#shared/rpc/call-metadata.ts'
import { MAX_MESSAGE_BYTES } from '#shared/rpc/limits.ts'
import type { Carrier, OpenSpan } from '#shared/telemetry/tracing.ts'

/** The headers of a call by the Connect protocol in binary (https://connectrpc.com/docs/protocol). */
export function requestHeaders(
  method: DescMethod,
  call: {
    readonly secret: string
    readonly timeoutMs: number | undefined
    readonly header: ConstructorParameters<typeof Headers>[0]
    readonly contextValues: ContextValues | undefined
    readonly span: OpenSpan | undefined
  },
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ':method': 'POST',
    ':path': `/${method.parent.typeName}/${method.name}`,
    'content-type': method.methodKind === 'unary' ? 'application/proto' : 'application/connect+proto',
    'connect-protocol-version': '1',
    [SECRET_HEADER]: call.secret,
  }
  if (call.timeoutMs !== undefined) headers['connect-timeout-ms'] = String(Math.ceil(call.timeoutMs))
  if (call.contextValues !== undefined) {
    Object.assign(headers, headersOfContext(call.contextValues.get(callContextKey)))
  }
  if (call.header !== undefined) Object.assign(headers, Object.fromEntries(new Headers(call.header)))
  call.span?.inject(headers as Carrier)
  return headers
}

/** Returns the message of a unary response; throws the error that the peer rejected the call with. */
export async function unaryMessage<O extends DescMessage>(output: O, call: Http2Call): Promise<MessageShape<O>> {
  const head = await call.head()
  const bytes = await readAll(call)
  if (Number(head['content-length'] ?? bytes.byteLength) !== bytes.byteLength) {
    throw new ConnectError('The response was cut off', Code.Unavailable)
  }
  if (head[':status'] !== 200) throw errorOf(head, bytes)
  return fromBinary(output, bytes)
}

/** Waits until a stream is established; throws if the peer refused it. */
export async function streamStands(call: Http2Call): Promise<void> {
  const head = await call.head()
  if (head[':status'] !== 200) throw errorOf(head, await readAll(call))
}

/** Is notified of the outcome of a call. */
export interface Observer {
  answered(): void
  failed(error: unknown): void
}

/**
 * Returns the messages of a stream, pulled one by one. Leaving it resets the stream. The observer is notified of each
 * message and of the end or failure; that the stream was established is not enough, since a refusal also comes in a
 * stream.
 */
export function streamMessages<O extends DescMessage>(
  output: O,
  call: Http2Call,
  observer?: Observer,
): AsyncIterable<MessageShape<O>> {
  const reader = new EnvelopeReader(MAX_MESSAGE_BYTES)
  const step = async (): Promise<IteratorResult<MessageShape<O>, undefined>> => {
    for (;;) {
      const envelope = reader.next()
      if (envelope !== undefined) {
        if (envelope.flags !== endStreamFlag) return { done: false, value: fromBinary(output, envelope.data) }
        const { error } = endStreamFromJson(envelope.data)
        if (error !== undefined) throw error
        return { done: true, value: undefined }
      }
      const piece = await call.read()
      if (piece === undefined) throw new ConnectError('The stream was cut off', Code.Unavailable)
      reader.push(piece)
    }
  }
  let done = false
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (done) return { done: true, value: undefined }
        try {
          const result = await step()
          done = result.done === true
          observer?.answered()
          return result
        } catch (error) {
          done = true
          observer?.failed(error)
          throw error
        } finally {
          if (done) call.close()
        }
      },
      async return() {
        done = true
        call.close()
        return { done: true, value: undefined }
      },
    }),
  }
}

async function readAll(call: Http2Call): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let total = 0
  for (;;) {
    const piece = await call.read()
    if (piece === undefined) return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces)
    pieces.push(piece)
    total += piece.byteLength
    if (total > MAX_MESSAGE_BYTES) {
      call.close()
      throw new ConnectError(`The answer has more than ${MAX_MESSAGE_BYTES} bytes`, Code.ResourceExhausted)
    }
  }
}

function errorOf(head: ResponseHead, bytes: Uint8Array): ConnectError {
  const status = head[':status'] ?? 0
  const fallback = new ConnectError(`The peer answered with HTTP status ${status}`, codeFromHttpStatus(status))
  if (head['content-type'] !== 'application/json') return fallback
  try {
    return errorFromJsonBytes(bytes, undefined, fallback)
  } catch {
    return fallback
  }
}
