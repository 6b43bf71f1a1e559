import { ALL_CHANGES, type ChangeKind } from '#services/session/domain/change.ts'
import type { SessionChange } from '#services/session/ports/session-store.ts'

export class SessionChanges {
  readonly #listeners = new Set<(change: SessionChange) => void>()

  /** Notifies a listener of every change until the returned object is disposed. */
  listen(listener: (change: SessionChange) => void): Disposable {
    const own = (change: SessionChange): void => listener(change)
    this.#listeners.add(own)
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) }
  }

  /** Notifies the listeners, unless nothing has changed that anybody waits for. */
  notify(workspace: string, sessionId: string, kinds: readonly ChangeKind[]): void {
    if (kinds.length > 0) this.#notify({ workspace, sessionId, kinds })
  }

  /** Anything may have changed. */
  notifyAll(): void {
    this.#notify({ workspace: undefined, sessionId: undefined, kinds: ALL_CHANGES })
  }

  #notify(change: SessionChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
