import type { SessionEvent } from '#gen/portico/session/v1/event_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { pause } from '../pause.ts'

/** How many sessions are remembered. */
const MOST = 10_000
const RETRY_MS = 1_000
const NOBODY: readonly string[] = []

/** The ancestors of sessions. A session's parent never changes, so each session is read once, until it is removed. */
export class Ancestors {
  readonly #store: Pick<SessionStore, 'getSession'>
  readonly #workspace: string
  readonly #paths = new Map<string, readonly string[]>()

  constructor(store: Pick<SessionStore, 'getSession'>, workspace: string) {
    this.#store = store
    this.#workspace = workspace
  }

  /**
   * The ids of the ancestors of an event's session, nearest first. Waits for a store that is away until the signal
   * aborts.
   */
  async of({ sessionId, event }: SessionEvent, signal: AbortSignal): Promise<readonly string[]> {
    if (event.case === 'sessionDeleted') {
      this.#paths.delete(sessionId)
      // The store does not know the session any more.
      return event.value.ancestorIds
    }
    if (event.case === 'sessionCreated') return this.#read(sessionId, event.value.session?.parentId, signal)
    // Another session may have had the id before.
    if (event.case === 'sessionForked') this.#paths.delete(sessionId)
    return this.ofSession(sessionId, signal)
  }

  /** The ids of the ancestors of a session, nearest first. Waits as well. */
  async ofSession(sessionId: string, signal: AbortSignal): Promise<readonly string[]> {
    return this.#paths.get(sessionId) ?? this.#read(sessionId, await this.#parentOf(sessionId, signal), signal)
  }

  async #read(sessionId: string, first: string | undefined, signal: AbortSignal): Promise<readonly string[]> {
    const ancestors: string[] = []
    let parent = first
    while (parent !== undefined && !ancestors.includes(parent)) {
      ancestors.push(parent)
      parent = await this.#parentOf(parent, signal)
    }
    if (this.#paths.size >= MOST) this.#paths.clear()
    this.#paths.set(sessionId, ancestors.length === 0 ? NOBODY : ancestors)
    return ancestors
  }

  async #parentOf(sessionId: string, signal: AbortSignal): Promise<string | undefined> {
    for (;;) {
      try {
        return (await this.#store.getSession(this.#workspace, sessionId))?.parentId
      } catch (error) {
        if (!isStoreUnavailable(error)) throw error
        await pause(RETRY_MS, signal)
      }
    }
  }
}
