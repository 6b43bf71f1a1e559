import type { StoreWatch } from '#shared/stores/store-watch.ts'
import { isStream } from '#shared/streams.ts'
import { wrapPort } from '#shared/wrap-port.ts'

/**
 * Wraps a store's port. Its calls throw STORE_UNAVAILABLE if the watch blames the store, and end within a time limit;
 * of a stream, only the first item has a limit. Callers that hold something which must not be abandoned halfway, and
 * that wait for the store whatever it takes, set no limit. A successful call of `writes` shows that the store accepts
 * writes.
 */
export function storePort<P extends object>(
  port: P,
  watch: StoreWatch,
  { limited = true, writes = [] }: { readonly limited?: boolean; readonly writes?: readonly (keyof P)[] } = {},
): P {
  return wrapPort(port, (name, call) => {
    const kind = { limited, writes: (writes as readonly PropertyKey[]).includes(name) }
    return (...words) => watched(call(words), watch, kind)
  })
}

type Kind = Parameters<StoreWatch['follow']>[1]

function watched(answer: unknown, watch: StoreWatch, kind: Kind): unknown {
  if (answer instanceof Promise) return watch.follow(answer, kind)
  return isStream(answer) ? watchedStream(answer, watch, kind.limited) : answer
}

function watchedStream(stream: AsyncIterable<unknown>, watch: StoreWatch, limited: boolean): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = stream[Symbol.asyncIterator]()
      let first = limited
      return {
        next() {
          const next = watch.follow(iterator.next(), { limited: first, writes: false })
          first = false
          return next
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}
