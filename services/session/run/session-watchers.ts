import type { ChangeKind } from '../domain/change.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { SharedWatch, type WatchedSession } from './shared-watch.ts'

interface Listener {
  readonly kind: ChangeKind
  readonly notify: () => void
}

/** The expiry of a lease is no write, so nobody is notified of it. */
const POLL_MS = 2_000

/**
 * Notifies watchers of a session that it may have changed, so that each watcher only receives changes of its own
 * session.
 */
export class SessionWatchers implements Disposable {
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #pollMs: number
  readonly #source: Disposable

  constructor(store: Pick<SessionStore, 'onChange'>, pollMs = POLL_MS) {
    this.#pollMs = pollMs
    this.#source = store.onChange(({ workspace, sessionId, kinds }) => {
      if (workspace === undefined || sessionId === undefined) {
        for (const listeners of [...this.#listeners.values()]) notify(listeners, kinds)
      } else notify(this.#listeners.get(keyOf(workspace, sessionId)), kinds)
    })
  }

  /** Calls the listener on every change of that kind until the returned object is disposed. */
  watch(workspace: string, sessionId: string, kind: ChangeKind, notify: () => void): Disposable {
    const key = keyOf(workspace, sessionId)
    const own: Listener = { kind, notify }
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(own))
    return {
      [Symbol.dispose]: () => {
        listeners.delete(own)
        if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key)
      },
    }
  }

  /** Shared reads of sessions for those who wait for a change of that kind. */
  share<R>(kind: ChangeKind, read: (session: WatchedSession) => Promise<R>): SharedWatch<R> {
    return new SharedWatch({
      read,
      watch: ({ workspace, sessionId }, notify) => this.watch(workspace, sessionId, kind, notify),
      pollMs: this.#pollMs,
    })
  }

  [Symbol.dispose](): void {
    this.#source[Symbol.dispose]()
    this.#listeners.clear()
  }
}

function keyOf(workspace: string, sessionId: string): string {
  return `${workspace}\0${sessionId}`
}

// A listener may watch or stop watching while it is notified.
function notify(listeners: ReadonlySet<Listener> | undefined, changed: readonly ChangeKind[]): void {
  for (const { kind, notify } of [...(listeners ?? [])]) if (changed.includes(kind)) notify()
}
