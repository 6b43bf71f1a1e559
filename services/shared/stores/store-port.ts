import type { StoreWatch } from '#shared/stores/store-watch.ts'

/**
 * A store's port whose calls throw STORE_UNAVAILABLE where the store is to blame, as the watch says, and end in time: of a
 * stream only the first item has a limit. Those who hold something that must not be let go half-way, and wait for the
 * store whatever it takes, set no limit. The success of `writes` shows that the store takes writes.
 */
export function storePort<P extends object>(
  port: P,
  watch: StoreWatch,
  { limited = true, writes = [] }: { readonly limited?: boolean; readonly writes?: readonly (keyof P)[] } = {},
): P {
  const wrapped = new Map<PropertyKey, unknown>()
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      if (typeof key === 'symbol') return member.bind(target)
      let method = wrapped.get(key)
      if (method === undefined) {
        const call = { limited, writes: (writes as readonly PropertyKey[]).includes(key) }
        method = (...words: unknown[]) => watched(Reflect.apply(member, target, words), watch, call)
        wrapped.set(key, method)
      }
      return method
    },
  })
}

type Call = Parameters<StoreWatch['follow']>[1]

function watched(answer: unknown, watch: StoreWatch, call: Call): unknown {
  if (answer instanceof Promise) return watch.follow(answer, call)
  return isStream(answer) ? watchedStream(answer, watch, call.limited) : answer
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

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
