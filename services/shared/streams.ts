import { Code, ConnectError } from '@connectrpc/connect'

/** One step of a stream: a pull or its end. */
export type StreamStep<T> = () => Promise<IteratorResult<T, undefined>>

/**
 * Wraps every step of a stream, its end included: to run it in a scope, or to translate what it throws. Nothing is
 * pulled ahead.
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

/** The only message of a request whose answer is a stream. */
export async function onlyMessage<T>(input: AsyncIterable<T>): Promise<T> {
  for await (const message of input) return message
  throw new ConnectError('A request message is missing', Code.Unimplemented)
}
