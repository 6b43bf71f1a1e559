import type { SessionDeleted } from '#gen/portico/session/v1/event_pb.js'
import type { DurableEvent, LogEvent } from '../domain/event.ts'

/**
 * The durable events of sessions, in the order in which they were committed; they are kept for a time. Of a session
 * that was removed only its SessionDeleted event is read, as soon as the process knows of the removal.
 */
export interface EventLog {
  /**
   * Events of a workspace in log order: after a position, or from now on; then live, until the signal aborts or the
   * store is disposed. The reader pulls, so a slow one costs no memory. The first item is `ready`: everything that is
   * written after the reader has received it will come. `missed` follows at once if the position is unknown or too old;
   * later, one `missed` takes the place of each run of events that are lost. A reader that gave a position gets
   * `caught-up` once, when it has everything that was written before it began. Positions of one log sort as their texts
   * do, in log order.
   */
  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem>
  /**
   * Events of a session after a number of it (0: from the first on), in order: at most `limit`, and fewer where they
   * are large, but at least one if there are any.
   */
  listEvents(
    workspace: string,
    sessionId: string,
    query: { readonly afterSeq: number; readonly limit: number },
  ): Promise<SessionEvents>
  /**
   * Removes some of the events that were written before a time, so few that others hardly wait; returns how many. 0:
   * none are left.
   */
  expireEvents(before: number): Promise<number>
}

export type TailItem =
  /** `position`: the reader's position; all further events come after it. */
  | { readonly type: 'ready'; readonly position: string }
  /** `lost`: the lost events, equal ones only once; undefined: they are not known. */
  | { readonly type: 'missed'; readonly lost?: readonly LostEvent[] }
  /** `position`: as with `ready`. */
  | { readonly type: 'caught-up'; readonly position: string }
  | { readonly type: 'event'; readonly event: DurableEvent }

/** What is known of an event that is lost. */
export interface LostEvent extends Pick<DurableEvent, 'sessionId' | 'directory'> {
  /** Of the last event of a removed session. */
  readonly deletion?: SessionDeleted | undefined
}

/** Events of one session. */
export interface SessionEvents {
  readonly events: readonly LogEvent[]
  /** Events before these may be missing, because they have expired. */
  readonly missed: boolean
}
