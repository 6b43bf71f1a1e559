import type { DurableEvent, DurableEventData } from '../domain/event.ts'

/**
 * The durable events of sessions, in the order in which they were committed; they are kept for a time. Of a session
 * that was removed only its session-deleted event is read, as soon as the process knows of the removal.
 */
export interface EventLog {
  /**
   * Events of a workspace in log order: after a position, or from now on; then live, until the signal aborts or the
   * store is disposed. Pulled: a slow reader holds nothing but its place. The first item is `ready`: everything written
   * after it was seen will come. `missed` follows at once when the position is unknown or too old, and stands later
   * where a gap can't be filled, once for all events in a row that are lost. A reader that gave a position gets
   * `caught-up` once, when it has everything that was written before it began. Positions of one log sort as their texts
   * do, in log order.
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
  /** `lost`: the events, one for all that are alike; undefined: they are not known. */
  | { readonly type: 'missed'; readonly lost?: readonly LostEvent[] }
  /** `position`: as with `ready`. */
  | { readonly type: 'caught-up'; readonly position: string }
  | { readonly type: 'event'; readonly event: DurableEvent }

/** What is known of an event that is lost. */
export interface LostEvent extends Pick<DurableEvent, 'sessionId' | 'directory'> {
  /** Of the last event of a removed session. */
  readonly data?: Extract<DurableEventData, { readonly type: 'session-deleted' }> | undefined
}

/** Events of one session. */
export interface SessionEvents {
  readonly events: readonly Omit<DurableEvent, 'position'>[]
  /** Events before these may be missing, because they have expired. */
  readonly missed: boolean
}
