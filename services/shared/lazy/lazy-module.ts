/** What no one has wanted so far. */
const waiting = new Set<() => Promise<unknown>>()

/**
 * A module that is read when it is first wanted, so that a start does without it. To be called once for each, at the top of a module.
 * A failure is not kept.
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

/** Reads what no one has wanted so far, one after the other. */
export async function loadTheRest(): Promise<void> {
  for (const get of waiting) await get()
}
