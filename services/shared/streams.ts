import { Code, ConnectError } from '@connectrpc/connect'

/** One step of a stream: a pull or its end. */
export type StreamStep<T> = () => Promise<IteratorResult<T, undefined>>

/**
 * Wraps every step of a stream, including its end, for example to run it in a scope or to convert what it throws.
 * Nothing is pulled ahead.
 */
export function wrapSteps<T>(source: AsyncIterable<T>, wrap: (step: StreamStep<T>) => ReturnType<StreamStep<T>>) {
  return {
    [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
      const iterator = source[Symbol.asyncIterator]() as AsyncIterator<T, undefined>
      return {
        next: () => wrap(() => iterator.next()),
        return: () => wrap(async () => (await iterator.return?.()) ?? { done: true, value: undefined }),
      }
    },
  }
}

/**
 * Applies `map` to each item of a stream, which `open` opens at the first pull. A generator would do the same at
 * several times the cost, which matters for an item per word of each stream.
 */
export class MappedStream<T, U> implements AsyncIterableIterator<U, undefined> {
  readonly #open: () => Promise<AsyncIterable<T>>
  readonly #map: (item: T) => U
  #opened: Promise<AsyncIterator<T>> | undefined
  #iterator: AsyncIterator<T> | undefined
  readonly #mapped = ({ done, value }: IteratorResult<T>): IteratorResult<U, undefined> =>
    done === true ? { done, value: undefined } : { done: false, value: this.#map(value) }

  constructor(open: () => Promise<AsyncIterable<T>>, map: (item: T) => U) {
    this.#open = open
    this.#map = map
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<U, undefined>> {
    return this.#iterator === undefined ? this.#first() : this.#iterator.next().then(this.#mapped)
  }

  async #first(): Promise<IteratorResult<U, undefined>> {
    this.#opened ??= this.#open().then((stream) => stream[Symbol.asyncIterator]())
    this.#iterator = await this.#opened
    return this.#mapped(await this.#iterator.next())
  }

  async return(): Promise<IteratorResult<U, undefined>> {
    const iterator = await this.#opened?.catch(() => undefined)
    await iterator?.return?.()
    return { done: true, value: undefined }
  }
}

/** Whether a value is a stream. */
export function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** The only message of a request with a streamed response. */
export async function onlyMessage<T>(input: AsyncIterable<T>): Promise<T> {
  for await (const message of input) return message
  throw new ConnectError('A request message is missing', Code.Unimplemented)
}
