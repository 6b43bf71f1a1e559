import { create, type DescMessage, type DescMethod, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError, createContextValues, type Transport } from '@connectrpc/connect'
import { LocalContext } from '#shared/local-context.ts'
import { toConnectError } from '#shared/rejection.ts'
import type { Routes } from '#shared/routes.ts'
import { onlyMessage } from '#shared/streams.ts'

type Unary = (input: unknown, context: LocalContext) => unknown
type ServerStream = (input: unknown, context: LocalContext) => AsyncIterable<unknown>

interface Entry {
  readonly routes: Routes
  readonly handler: Unary | ServerStream
}

/**
 * A Connect transport that calls the handlers of this process directly: the same deadlines, errors and abort as over
 * HTTP/2, but nothing is encoded. A message is immutable once handed over. Streams are pulled, never buffered. Server
 * streaming is the only kind of stream.
 */
export function createLocalTransport(...all: Routes[]): Transport {
  const entries = new Map<DescMethod, Entry>()
  for (const routes of all) {
    for (const { service, implementation } of routes.services) {
      for (const method of service.methods) {
        const handler = implementation[method.localName] as Unary | ServerStream | undefined
        if (handler === undefined) continue
        entries.set(method, { routes, handler: handler.bind(implementation) as Unary | ServerStream })
      }
    }
  }
  const entryOf = (method: DescMethod): Entry => {
    const entry = entries.get(method)
    if (entry === undefined) throw new ConnectError(`${method.name} is not served here`, Code.Unimplemented)
    return entry
  }
  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const { routes, handler } = entryOf(method)
      const context = new LocalContext(method, signal, timeoutMs, header, contextValues ?? createContextValues())
      try {
        context.throwIfDone()
        const input = create(method.input, message)
        const output = await context.race((handler as Unary)(input, context) as Promise<unknown>)
        return {
          stream: false,
          service: method.parent,
          method,
          header: context.responseHeader,
          trailer: context.responseTrailer,
          message: create(method.output, output as MessageInitShape<typeof method.output>),
        }
      } catch (error) {
        throw context.explain(error) ?? toConnectError(error, routes.domain, routes.reasons)
      } finally {
        context.close()
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const { routes, handler } = entryOf(method)
      const context = new LocalContext(method, signal, timeoutMs, header, contextValues ?? createContextValues())
      const first = await onlyMessage(input)
      return {
        stream: true,
        service: method.parent,
        method,
        header: context.responseHeader,
        trailer: context.responseTrailer,
        message: pull(method.output, routes, handler as ServerStream, create(method.input, first as never), context),
      }
    },
  }
}

async function* pull<O extends DescMessage>(
  output: O,
  routes: Routes,
  handler: ServerStream,
  input: unknown,
  context: LocalContext,
) {
  let iterator: AsyncIterator<unknown> | undefined
  try {
    context.throwIfDone()
    iterator = handler(input, context)[Symbol.asyncIterator]()
    for (;;) {
      const next = await context.race(iterator.next())
      if (next.done === true) return
      yield create(output, next.value as MessageInitShape<O>)
    }
  } catch (error) {
    throw context.explain(error) ?? toConnectError(error, routes.domain, routes.reasons)
  } finally {
    context.close()
    void iterator?.return?.()?.catch(() => {})
  }
}
