import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { type Server, serve } from '#shared/process/serve.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { createLogger } from '#shared/telemetry/logging.ts'

/** The secret between processes in tests. */
export const testSecret = 'secret-of-the-tests'

/** A logger that writes nothing. */
export const silentLogger = createLogger({ service: 'test', level: 'silent' })

/** A transport to routes, and whatever it needs. */
export interface Connection extends AsyncDisposable {
  readonly transport: Transport
  /** Over HTTP/2: who serves. */
  readonly server?: Server
}

/** Opens routes for calls. */
export type Connect = (...routes: Routes[]) => Promise<Connection>

/**
 * Runs a body once for each way to call a service: in this process and over real HTTP/2. The body defines its tests and
 * puts the name of the transport into their titles.
 */
export function forEachTransport(body: (name: 'local' | 'HTTP/2', connect: Connect) => void): void {
  body('local', connectLocal)
  body('HTTP/2', connectHttp2)
}

/** Calls over the local transport, made strict: see `strict`. */
export const connectLocal: Connect = async (...routes) => ({
  transport: strict(createLocalTransport(...routes)),
  async [Symbol.asyncDispose]() {},
})

/** Calls over HTTP/2 to a server on a free port of the loopback. */
export const connectHttp2: Connect = async (...routes) => {
  const server = await serve({
    routes,
    host: '127.0.0.1',
    port: 0,
    secret: testSecret,
    logger: silentLogger,
  })
  const transport = createHttp2Transport({ url: server.url, secret: testSecret })
  return {
    transport,
    server,
    async [Symbol.asyncDispose]() {
      await transport[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

/**
 * A local transport that proves what the real one takes for granted: messages survive protobuf (each is encoded and
 * decoded), and nobody changes one that was handed over (each is frozen, parts included).
 */
function strict(transport: Transport): Transport {
  return {
    ...transport,
    unary: async (method, signal, timeoutMs, header, input, contextValues) => {
      const message = handOver(method.input, input) as MessageInitShape<typeof method.input>
      const response = await transport.unary(method, signal, timeoutMs, header, message, contextValues)
      return { ...response, message: handOver(method.output, response.message as never) }
    },
    stream: async (method, signal, timeoutMs, header, input, contextValues) => {
      const messages = mapPulled(input, (message) => handOver(method.input, message) as typeof message)
      const response = await transport.stream(method, signal, timeoutMs, header, messages, contextValues)
      return {
        ...response,
        message: mapPulled(response.message, (message) => handOver(method.output, message as never)),
      }
    },
  }
}

function handOver<D extends DescMessage>(desc: D, message: MessageInitShape<D>): MessageShape<D> {
  const full = create(desc, message)
  const copy = fromBinary(desc, toBinary(desc, full))
  deepFreeze(full)
  return deepFreeze(copy)
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value) && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}

function mapPulled<A, B>(source: AsyncIterable<A>, map: (item: A) => B): AsyncIterable<B> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]()
      return {
        async next() {
          const step = await iterator.next()
          return step.done === true ? { done: true, value: undefined } : { done: false, value: map(step.value) }
        },
        async return() {
          await iterator.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}
