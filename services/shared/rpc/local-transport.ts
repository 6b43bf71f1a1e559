import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { Code, ConnectError, type ContextValues, type Transport } from '@connectrpc/connect'
import { toConnectError } from '#shared/reasons.ts'
import { localValues } from '#shared/rpc/call-context.ts'
import { DEFAULT_TIMEOUT_MS } from '#shared/rpc/limits.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { openRpcSpan, runIn } from '#shared/rpc/rpc-span.ts'
import { onlyMessage } from '#shared/streams.ts'
import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import type { OpenSpan } from '#shared/telemetry/tracing.ts'
import { type Caller, type CallerTransport, callerKey, SignalCaller } from './call-context.ts'
import { LocalContext } from './local-context.ts'

type UnaryHandler = (input: unknown, context: LocalContext) => unknown

interface Entry {
  readonly routes: Routes
  readonly handler: UnaryHandler | StreamHandler
}

/**
 * A Connect transport that calls the handlers of this process directly, with the same deadlines, errors and aborts as
 * over HTTP/2, but without encoding. A message must not be changed once it was passed. Streams are pulled, never
 * buffered. Server streaming is the only kind of stream.
 */
export function createLocalTransport(...all: Routes[]): Transport {
  const entries = new Map<DescMethod, Entry>()
  for (const routes of all) {
    for (const { service, implementation } of routes.services) {
      for (const method of service.methods) {
        const handler = implementation[method.localName] as UnaryHandler | StreamHandler | undefined
        if (handler === undefined) continue
        entries.set(method, { routes, handler: handler.bind(implementation) as UnaryHandler | StreamHandler })
      }
    }
  }
  const entryOf = (method: DescMethod): Entry => {
    const entry = entries.get(method)
    if (entry === undefined) throw new ConnectError(`${method.name} is not served here`, Code.Unimplemented)
    return entry
  }
  const transport: CallerTransport = {
    takesCallers: true,
    async unary(method, signal, timeoutMs = DEFAULT_TIMEOUT_MS, header, message, contextValues) {
      const { routes, handler } = entryOf(method)
      const caller = callerOf(signal, contextValues)
      const context = new LocalContext(method, caller, timeoutMs, header, localValues(contextValues, routes.draining))
      const span = openRpcSpan(method, 'internal')
      try {
        context.throwIfDone()
        const input = create(method.input, message)
        const output = await context.race(
          runIn(span, () => withStoreTime(() => (handler as UnaryHandler)(input, context))),
        )
        span?.end()
        const answer = create(method.output, output as MessageInitShape<typeof method.output>)
        return new LocalResponse(false, method, context, answer)
      } catch (thrown) {
        const error = context.explain(thrown) ?? toConnectError(thrown, routes.domain, routes.reasons)
        span?.end({ error })
        throw error
      } finally {
        context.close()
      }
    },
    async stream(method, signal, timeoutMs, header, messages, contextValues) {
      const { routes, handler } = entryOf(method)
      const input = create(method.input, await onlyMessage(messages))
      const values = localValues(contextValues, routes.draining)
      const context = new LocalContext(method, callerOf(signal, contextValues), timeoutMs ?? 0, header, values)
      const answer = new LocalStream(method.output, routes, handler as StreamHandler, input, context)
      return new LocalResponse(true, method, context, answer)
    },
  }
  return transport
}

function callerOf(signal: AbortSignal | undefined, values: ContextValues | undefined): Caller | undefined {
  return signal === undefined ? values?.get(callerKey) : new SignalCaller(signal)
}

// A class, because making an object literal with getters takes longer than the rest of a call.
class LocalResponse<S extends boolean, M extends DescMethod, T> {
  readonly stream: S
  readonly method: M
  readonly message: T
  readonly #context: LocalContext

  constructor(stream: S, method: M, context: LocalContext, message: T) {
    this.stream = stream
    this.method = method
    this.message = message
    this.#context = context
  }

  get service(): DescService {
    return this.method.parent
  }

  get header(): Headers {
    return this.#context.responseHeader
  }

  get trailer(): Headers {
    return this.#context.responseTrailer
  }
}

/** A handler that returns a stream. */
export type StreamHandler = (input: unknown, context: LocalContext) => AsyncIterable<unknown>

/**
 * The messages of a local streaming call. The handler runs only while its next message is awaited. When the stream
 * ends, fails, is left or aborted, or its deadline passes, the handler's signal fires and its generator is closed.
 */
export class LocalStream<O extends DescMessage> implements AsyncIterableIterator<MessageShape<O>, undefined> {
  readonly #output: O
  readonly #routes: Routes
  readonly #handler: StreamHandler
  readonly #input: unknown
  readonly #context: LocalContext
  #iterator: AsyncIterator<unknown> | undefined
  #span: OpenSpan | undefined
  #over = false
  readonly #made = (next: IteratorResult<unknown>): IteratorResult<MessageShape<O>, undefined> => {
    if (next.done === true) {
      this.#finish()
      return { done: true, value: undefined }
    }
    try {
      return { done: false, value: create(this.#output, next.value as MessageInitShape<O>) }
    } catch (error) {
      return this.#failed(error)
    }
  }
  readonly #failed = (thrown: unknown): never => {
    const error = this.#context.explain(thrown) ?? toConnectError(thrown, this.#routes.domain, this.#routes.reasons)
    this.#finish(error)
    throw error
  }

  constructor(output: O, routes: Routes, handler: StreamHandler, input: unknown, context: LocalContext) {
    this.#output = output
    this.#routes = routes
    this.#handler = handler
    this.#input = input
    this.#context = context
    const release = (): void => this.#release()
    context.onEnd = release
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<MessageShape<O>, undefined>> {
    if (this.#over) return Promise.resolve({ done: true, value: undefined })
    // This runs for each word of each stream: an async function would make several more objects.
    return this.#pulled().then(this.#made, this.#failed)
  }

  #pulled(): Promise<IteratorResult<unknown>> {
    try {
      this.#context.throwIfDone()
      return this.#context.race(this.#pull())
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async return(): Promise<IteratorResult<MessageShape<O>, undefined>> {
    this.#finish()
    return { done: true, value: undefined }
  }

  #pull(): Promise<IteratorResult<unknown>> {
    this.#span ??= this.#iterator === undefined ? openRpcSpan(this.#context.method, 'internal') : undefined
    return runIn(this.#span, () => {
      this.#iterator ??= this.#handler(this.#input, this.#context)[Symbol.asyncIterator]()
      return this.#iterator.next()
    })
  }

  #finish(error?: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#span?.end({ error })
    this.#release()
  }

  #release(): void {
    this.#context.close()
    // A generator that waits for something other than the signal closes once it continues.
    void this.#iterator?.return?.()?.catch(() => {})
    this.#iterator = undefined
  }
}
