import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import type { ChangeKind } from '../domain/change.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { pause } from './pause.ts'

interface Listener {
  readonly kind: ChangeKind
  readonly notify: () => void
}

/** A lease that runs out is no write, and nobody is notified of it. */
const POLL_MS = 2_000

/** Notifies those who watch one session that something of it may have changed; many may watch without each receiving all. */
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

  /** Asks now, and again whenever something of that kind may have changed in the session, until there is an answer. Throws the signal's reason. */
  async until<T>(
    { workspace, sessionId }: { readonly workspace: string; readonly sessionId: string },
    kind: ChangeKind,
    signal: AbortSignal,
    ask: () => Promise<T | undefined>,
  ): Promise<T> {
    let changed = Promise.withResolvers<void>()
    using _ = this.watch(workspace, sessionId, kind, () => changed.resolve())
    for (;;) {
      signal.throwIfAborted()
      changed = Promise.withResolvers()
      const answer = await withStoreTime(ask)
      if (answer !== undefined) return answer
      await changedOr(changed.promise, this.#pollMs, signal)
    }
  }

  [Symbol.dispose](): void {
    this.#source[Symbol.dispose]()
    this.#listeners.clear()
  }
}

/** Waits for the change, but not longer than until the next poll. */
async function changedOr(changed: Promise<void>, pollMs: number, signal: AbortSignal): Promise<void> {
  const woken = new AbortController()
  const poll = pause(pollMs, AbortSignal.any([signal, woken.signal]))
  try {
    await Promise.race([changed, poll])
  } finally {
    woken.abort()
    await poll.catch(() => {})
  }
}

function keyOf(workspace: string, sessionId: string): string {
  return `${workspace}\0${sessionId}`
}

// A listener may watch or stop watching while it is notified.
function notify(listeners: ReadonlySet<Listener> | undefined, changed: readonly ChangeKind[]): void {
  for (const { kind, notify } of [...(listeners ?? [])]) if (changed.includes(kind)) notify()
}
