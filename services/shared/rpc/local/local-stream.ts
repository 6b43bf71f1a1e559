import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf'
import { toConnectError } from '#shared/reasons.ts'
import type { LocalContext } from '#shared/rpc/local/local-context.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { openRpcSpan, runIn } from '#shared/rpc/rpc-span.ts'
import type { OpenSpan } from '#shared/telemetry/tracing.ts'

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
    this.#span?.end(error === undefined ? {} : { error })
    this.#release()
  }

  #release(): void {
    this.#context.close()
    // A generator that waits for something other than the signal closes once it continues.
    void this.#iterator?.return?.()?.catch(() => {})
    this.#iterator = undefined
  }
}
