import { withStoreTime } from '#shared/telemetry/request-scope.ts'
import type { SessionStore } from '../ports.ts'
import { pause } from './pause.ts'

type Listener = () => void

/** A lease that runs out is no write, and nobody is told of it. */
const POLL_MS = 2_000

/** Tells those who watch one session that something of it may have changed; many may watch without each hearing all. */
export class SessionWatchers implements Disposable {
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #pollMs: number
  readonly #source: Disposable

  constructor(store: Pick<SessionStore, 'onChange'>, pollMs = POLL_MS) {
    this.#pollMs = pollMs
    this.#source = store.onChange(({ workspace, sessionId }) => {
      if (workspace === undefined || sessionId === undefined) {
        for (const listeners of [...this.#listeners.values()]) notify(listeners)
      } else notify(this.#listeners.get(keyOf(workspace, sessionId)))
    })
  }

  /** Calls the listener on every change until the answer is disposed. */
  watch(workspace: string, sessionId: string, listener: Listener): Disposable {
    const key = keyOf(workspace, sessionId)
    const own = (): void => listener()
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(own))
    return {
      [Symbol.dispose]: () => {
        listeners.delete(own)
        if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key)
      },
    }
  }

  /** Asks now, and again whenever the session may have changed, until there is an answer. Throws the signal's reason. */
  async until<T>(
    { workspace, sessionId }: { readonly workspace: string; readonly sessionId: string },
    signal: AbortSignal,
    ask: () => Promise<T | undefined>,
  ): Promise<T> {
    let changed = Promise.withResolvers<void>()
    using _ = this.watch(workspace, sessionId, () => changed.resolve())
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
  const heard = new AbortController()
  const poll = pause(pollMs, AbortSignal.any([signal, heard.signal]))
  try {
    await Promise.race([changed, poll])
  } finally {
    heard.abort()
    await poll.catch(() => {})
  }
}

function keyOf(workspace: string, sessionId: string): string {
  return `${workspace}\0${sessionId}`
}

// A listener may watch or stop watching while it is told.
function notify(listeners: ReadonlySet<Listener> | undefined): void {
  for (const listener of [...(listeners ?? [])]) listener()
}
