import type { LogEvent } from '#services/session/domain/event.ts'
import type { EventLog } from '#services/session/ports/event-log.ts'
import { Rejection } from '#shared/rejection.ts'
import type { EventHub } from './event-hub.ts'

/**
 * What a reader of one session's log gets: `missed` where events have expired, or where the log ends before the given
 * number and is read from its beginning (a session was made anew under the id), `synced` once it has all that was
 * written before.
 */
export type LogItem =
  | { readonly type: 'missed' }
  | { readonly type: 'event'; readonly event: LogEvent }
  | { readonly type: 'synced'; readonly seq: number | undefined }

/** The session, the number to start after, and whether to follow later events. */
export interface LogQuery {
  readonly workspace: string
  readonly sessionId: string
  readonly afterSeq: number
  readonly follow: boolean
}

const PAGE = 100

/**
 * The durable events of a session after a number of it, until the signal aborts or, without `follow`, until all were
 * read. A reader that is too slow for live events reads on from the store. It also ends with the session. Rejects with
 * SESSION_NOT_FOUND.
 */
export async function* readSessionLog(
  { store, hub }: { readonly store: Pick<EventLog, 'listEvents'>; readonly hub: EventHub },
  { workspace, sessionId, afterSeq, follow }: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<LogItem> {
  let seq = afterSeq
  for (let round = 0; !signal.aborted; round++) {
    // Before anything is read, so that nothing is written in between.
    const live = follow ? hub.subscribe(workspace, undefined, signal, { sessionId }) : undefined
    try {
      await live?.next()
      let isKnown = true
      let read = round > 0
      if (round === 0 && seq > 0) {
        const { events } = await store.listEvents(workspace, sessionId, { afterSeq: seq - 1, limit: 1 })
        isKnown = events.length > 0
        if (!isKnown) seq = 0
      }
      for (;;) {
        const { events, missed } = await store.listEvents(workspace, sessionId, { afterSeq: seq, limit: PAGE })
        if (missed || !isKnown) yield { type: 'missed' }
        isKnown = true
        if (events.length === 0) break
        for (const event of events) {
          // Another session has the id by now.
          if (read && isFirst(event)) return
          read = true
          seq = event.seq
          yield { type: 'event', event }
        }
      }
      if (round === 0) yield { type: 'synced', seq: seq || undefined }
      if (live === undefined) return
      let gap = false
      for await (const item of live) {
        gap = item.type === 'missed'
        if (gap) break
        if (item.type !== 'event' || item.event.sessionId !== sessionId || item.event.seq <= seq) continue
        // The same object for everybody who follows.
        const { event } = item
        seq = event.seq
        yield { type: 'event', event }
        // No events follow, and there is no log left to read.
        if (event.event.case === 'sessionDeleted') return
      }
      if (!gap) return
    } catch (error) {
      if (!(error instanceof Rejection) || error.reason !== 'EVENTS_OVERFLOWED') throw error
    } finally {
      await live?.return(undefined)
    }
  }
}

function isFirst({ event }: LogEvent): boolean {
  return event.case === 'sessionCreated' || event.case === 'sessionForked'
}
