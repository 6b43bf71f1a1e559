import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { makeMessage } from '#shared/messages/make-message.ts'
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

  async next(): Promise<IteratorResult<MessageShape<O>, undefined>> {
    if (this.#over) return { done: true, value: undefined }
    try {
      this.#context.throwIfDone()
      const next = await this.#context.race(this.#pull())
      if (next.done !== true)
        return { done: false, value: makeMessage(this.#output, next.value as MessageInitShape<O>) }
      this.#finish()
      return { done: true, value: undefined }
    } catch (thrown) {
      const error = this.#context.explain(thrown) ?? toConnectError(thrown, this.#routes.domain, this.#routes.reasons)
      this.#finish(error)
      throw error
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
