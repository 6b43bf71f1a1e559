import type { SessionKey } from '#services/session/ports/lease.ts'

/**
 * The sessions of a process that wait for child sessions. A waiting session counts among those that the process owns,
 * and so does the child that it waits for, so waiting sessions must not use up the limit.
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

  /** Registers a waiting call of a session until the returned object is disposed; undefined: too many sessions wait. */
  enter(session: SessionKey): Disposable | undefined {
    const own = this.#waiting.get(session.workspace)
    const all = [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0)
    const isFull = (own?.size ?? 0) >= this.#mostOfOne || all >= this.#most
    return isFull && own?.has(session.sessionId) !== true ? undefined : this.return(session)
  }

  /** The same for a call that was already waiting, possibly in another process; it is never refused. */
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
