/** A session below another one, and the ids of its ancestors, nearest first. */
export interface Below<T> {
  readonly session: T
  readonly ancestors: readonly string[]
}

/** Maximum number of children to be read at once. */
export const MOST_BELOW = 20

interface Level<T> {
  readonly id: string
  /** The session itself; undefined: it is the one where the search began. */
  readonly session: T | undefined
  readonly children: readonly T[]
  next: number
}

/**
 * Finds up to MOST_BELOW sessions below another one, children before their parents, however deeply they are nested. An
 * empty result: there are none. Yields ids of sessions, and has to be passed the first children of each.
 */
export function* readBelow<T extends { readonly sessionId: string }>(
  id: string,
  ancestors: readonly string[],
): Generator<string, readonly Below<T>[], readonly T[]> {
  const sessions: Below<T>[] = []
  const path: Level<T>[] = [{ id, session: undefined, children: yield id, next: 0 }]
  for (let last = path.at(-1); last !== undefined && sessions.length < MOST_BELOW; last = path.at(-1)) {
    const child = last.children[last.next++]
    if (child !== undefined) {
      path.push({ id: child.sessionId, session: child, children: yield child.sessionId, next: 0 })
      continue
    }
    path.pop()
    const { session } = last
    if (session === undefined) break
    sessions.push({ session, ancestors: [...path.map((level) => level.id).reverse(), ...ancestors] })
  }
  return sessions
}
