import type { DescMethodServerStreaming, DescMethodUnary, DescService } from '@bufbuild/protobuf'
import type { CallOptions, Client, Transport } from '@connectrpc/connect'
import { callerKey } from '#shared/rpc/call-context.ts'

type Init = Record<string, unknown>

/**
 * A typed client of a service. It is Connect's `createClient`, except that leaving a `for await` over a stream ends the
 * call (Connect's continues until its signal is aborted). A stream starts with its first pull. Client streaming is not
 * used in Portico, and not supported here.
 */
export function createClient<S extends DescService>(service: S, transport: Transport): Client<S> {
  const client: Record<string, unknown> = {}
  for (const method of service.methods) {
    if (method.methodKind === 'unary') client[method.localName] = unaryCall(transport, method as DescMethodUnary)
    if (method.methodKind === 'server_streaming')
      client[method.localName] = streamCall(transport, method as DescMethodServerStreaming)
  }
  return client as Client<S>
}

function unaryCall(transport: Transport, method: DescMethodUnary) {
  return async (input: Init, options?: CallOptions): Promise<object> => {
    const { timeoutMs, headers, contextValues } = options ?? {}
    const signal = signalFor(transport, options)
    const response = await transport.unary(method, signal, timeoutMs, headers, input, contextValues)
    options?.onHeader?.(response.header)
    options?.onTrailer?.(response.trailer)
    return response.message
  }
}

function signalFor(transport: Transport, options: CallOptions | undefined): AbortSignal | undefined {
  if (options?.signal !== undefined || 'takesCallers' in transport) return options?.signal
  return options?.contextValues?.get(callerKey)?.signal
}

function streamCall(transport: Transport, method: DescMethodServerStreaming) {
  return (input: Init, options?: CallOptions): AsyncIterable<object> => ({
    [Symbol.asyncIterator]() {
      let opened: Promise<AsyncIterator<object>> | undefined
      let iterator: AsyncIterator<object> | undefined
      const open = async (): Promise<AsyncIterator<object>> => {
        const { timeoutMs, headers, contextValues } = options ?? {}
        const signal = signalFor(transport, options)
        const response = await transport.stream(method, signal, timeoutMs, headers, only(input), contextValues)
        options?.onHeader?.(response.header)
        iterator = response.message[Symbol.asyncIterator]()
        return iterator
      }
      return {
        next() {
          // This runs for each word of each stream, so an open stream is read directly.
          if (iterator !== undefined) return iterator.next()
          opened ??= open()
          return opened.then((stream) => stream.next())
        },
        async return() {
          await (await opened)?.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  })
}

async function* only<T>(value: T): AsyncIterable<T> {
  yield value
}
