import { isKept, PAGE_CHARACTERS } from '#services/session/adapters/tables/events.ts'
import { charactersOf } from '#services/session/domain/event.ts'
import type { SessionEvents } from '#services/session/ports/event-log.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { Collections } from '../collections.ts'
import type { EventTexts } from './event-texts.ts'

/** How many events to complete at once. */
const AT_ONCE = 8

export interface EventQuery {
  readonly afterSeq: number
  readonly limit: number
}

interface Reading extends EventQuery {
  readonly workspace: string
  readonly sessionId: string
  /** The session's own numbers are above this. */
  readonly base: number
}

/** See EventLog.listEvents. */
export async function listSessionEvents(
  { events }: Collections,
  texts: EventTexts,
  { workspace, sessionId, base, afterSeq, limit }: Reading,
  signal: AbortSignal,
): Promise<SessionEvents> {
  const own = { workspace, sessionId, seq: { $gt: base } }
  const options = { sort: { seq: 1 }, maxTimeMS: MAX_TIME_MS } as const
  const first = await events.findOne(own, { ...options, projection: { seq: 1, data: 1 } })
  const after = { ...own, seq: { $gt: Math.max(afterSeq, base) } }
  const records = await events.find(after, { ...options, limit }).toArray()
  const listed: SessionEvents['events'][number][] = []
  let characters = 0
  for (let at = 0; at < records.length && characters < PAGE_CHARACTERS; at += AT_ONCE) {
    const some = records.slice(at, at + AT_ONCE).map((record) => texts.complete(record, signal))
    const complete = (await Promise.all(some)).filter((event) => event !== undefined)
    listed.push(...complete)
    characters += charactersOf(complete.map(({ event }) => event))
  }
  return { events: listed, missed: !isKept(first, afterSeq) }
}
