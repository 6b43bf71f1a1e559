import { setImmediate as nextTurn } from 'node:timers/promises'

/** Modules that were not needed so far. */
const waiting = new Set<() => Promise<unknown>>()

/**
 * A module that is loaded when it is first needed, so that a start can do without it. Call it once for each module, at
 * the top level. A failure is not cached.
 */
export function lazyModule<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined
  const get = (): Promise<T> => {
    if (loaded !== undefined) return loaded
    waiting.delete(get)
    loaded = load()
    loaded.catch(() => {
      loaded = undefined
    })
    return loaded
  }
  waiting.add(get)
  return get
}

/** Loads the modules that were not needed so far, one after the other; requests get their turn in between. */
export async function loadTheRest(): Promise<void> {
  for (const get of waiting) {
    await get()
    await nextTurn()
  }
}
