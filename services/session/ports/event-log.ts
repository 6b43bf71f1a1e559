import type { DurableEvent } from '../domain/event.ts'

/**
 * The durable events of sessions, in the order in which they were committed; they are kept for a time. Of a session
 * that was removed only its session-deleted event is read, as soon as the process knows of the removal.
 */
export interface EventLog {
  /**
   * Events of a workspace in log order: after a position, or from now on; then live, until the signal aborts or the
   * store is disposed. Pulled: a slow reader holds nothing but its place. The first item is `ready`: everything written
   * after it was seen will come. `missed` follows at once when the position is unknown or too old, and stands later
   * where a gap can't be filled. A reader that gave a position gets `caught-up` once, when it has everything that was
   * written before it began. Positions of one log sort as their texts do, in log order.
   */
  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem>
  /**
   * Events of a session after a number of it (0: from the first on), in order: at most `limit`, and fewer where they
   * are large, but not none unless there are none.
   */
  listEvents(
    workspace: string,
    sessionId: string,
    query: { readonly afterSeq: number; readonly limit: number },
  ): Promise<SessionEvents>
  /**
   * Removes some of the events that were written before a time, so few that others hardly wait; returns how many. 0:
   * there are no others.
   */
  expireEvents(before: number): Promise<number>
}

export type TailItem =
  /** `position`: the reader's position; all further events come after it. */
  | { readonly type: 'ready'; readonly position: string }
  | { readonly type: 'missed' }
  /** `position`: as with `ready`. */
  | { readonly type: 'caught-up'; readonly position: string }
  | { readonly type: 'event'; readonly event: DurableEvent }

/** Events of one session. */
export interface SessionEvents {
  readonly events: readonly Omit<DurableEvent, 'position'>[]
  /** Events before these may be missing, because they have expired. */
  readonly missed: boolean
}
