import type { SessionKey } from '#services/session/ports/lease.ts'

/**
 * The sessions of a process that wait for others. As a waiting session takes a place among those that a process owns, and those
 * that it waits for need one, too, they must not be all of them.
 */
export class WaitingParents {
  /** Workspace → session → how many of its calls wait. */
  readonly #waiting = new Map<string, Map<string, number>>()
  readonly #most: number
  readonly #mostOfOne: number

  constructor(most: number, mostOfOne: number) {
    this.#most = most
    this.#mostOfOne = mostOfOne
  }

  /** One more call of a session waits, until the returned object is disposed; undefined: too many others do. */
  enter(session: SessionKey): Disposable | undefined {
    const own = this.#waiting.get(session.workspace)
    const all = [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
    const isFull = (own?.size ?? 0) >= this.#mostOfOne || all >= this.#most
    return isFull && own?.has(session.sessionId) !== true ? undefined : this.return(session)
  }

  /** The same for a call that waited before, in whatever process. */
  return({ workspace, sessionId }: SessionKey): Disposable {
    const own = this.#waiting.get(workspace) ?? new Map<string, number>()
    this.#waiting.set(workspace, own.set(sessionId, (own.get(sessionId) ?? 0) + 1))
    return {
      [Symbol.dispose]: () => {
        const left = (own.get(sessionId) ?? 1) - 1
        if (left > 0) own.set(sessionId, left)
        else own.delete(sessionId)
        if (own.size === 0) this.#waiting.delete(workspace)
      },
    }
  }
}
