import type { SessionChange } from '../ports.ts'

/** Those who want to know of changes in this process. */
export class SessionChanges {
  readonly #listeners = new Set<(change: SessionChange) => void>()

  /** Tells a listener of every change until the answer is disposed. */
  listen(listener: (change: SessionChange) => void): Disposable {
    const own = (change: SessionChange): void => listener(change)
    this.#listeners.add(own)
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) }
  }

  tell(workspace: string | undefined, sessionId: string | undefined): void {
    for (const listener of this.#listeners) listener({ workspace, sessionId })
  }
}
