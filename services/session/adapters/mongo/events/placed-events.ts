import { type EventRecord, isDeletion } from '#services/session/adapters/tables/events.ts'
import { changesAfter, type LogPlace } from '../change-stream.ts'
import type { Collections } from '../collections.ts'
import { ownedOf } from '../hidden-sessions.ts'
import type { EventFeed, PlacedEvent } from './event-feed.ts'
import type { EventTexts } from './event-texts.ts'

/** How long to wait for more events before checking whether the feed has the next one, in milliseconds. */
const AWAIT_MS = 50
/** How many events, and how many of their characters, are read at once. */
const BATCH = 100
const BATCH_CHARACTERS = 1_000_000

interface Reading {
  readonly collections: Collections
  readonly texts: EventTexts
  readonly feed: EventFeed
  readonly workspace: string
  /** The text of these is not needed. */
  readonly isExpired: (record: EventRecord) => boolean
}

/** A place of the server's log, with the event there; undefined: none that anybody is to see. */
type Placed = { readonly place: LogPlace; readonly record: EventRecord | undefined }

/**
 * The events of a workspace in the server's log after a place, without those of sessions that were removed, as far as
 * the feed knows. They are read in batches, which end where nothing more waits or where the feed begins.
 */
export async function* placedEvents(reading: Reading, after: LogPlace, signal: AbortSignal): AsyncGenerator<Placed> {
  const { collections, feed, workspace } = reading
  const pipeline = [{ $match: { operationType: 'insert', 'fullDocument.workspace': workspace } }]
  let batch: PlacedEvent[] = []
  let characters = 0
  for await (const { place, change } of changesAfter(collections.events, pipeline, after, signal, AWAIT_MS)) {
    if (change?.operationType === 'insert') {
      batch.push({ place, record: change.fullDocument })
      characters += change.fullDocument.data.length
    }
    const isFull = batch.length >= BATCH || characters >= BATCH_CHARACTERS
    if (!isFull && change !== undefined && !feed.stream.covers(place)) continue
    yield* withoutRemoved(reading, batch)
    yield { place, record: undefined }
    batch = []
    characters = 0
  }
}

/** Whoever takes these may be slow, so what is removed in the meantime is noticed. */
async function* withoutRemoved(reading: Reading, batch: readonly PlacedEvent[]): AsyncGenerator<Placed> {
  const { texts, feed, isExpired } = reading
  let owned: ReadonlySet<EventRecord> | undefined
  let removals = feed.removals
  for (const [i, { place, record }] of batch.entries()) {
    const isFirst = owned === undefined
    while (owned === undefined || removals !== feed.removals) {
      removals = feed.removals
      owned = await readOwned(reading, batch.slice(i))
    }
    if (isFirst) texts.prepare([...owned].filter((one) => !isExpired(one)))
    yield { place, record: owned.has(record) ? record : undefined }
  }
}

/** The server's log also contains the events of removed sessions. */
async function readOwned(
  { collections, workspace }: Reading,
  batch: readonly PlacedEvent[],
): Promise<Set<EventRecord>> {
  const records = batch.map(({ record }) => record)
  const deletions = records.filter(isDeletion)
  const others = records.filter((record) => !isDeletion(record))
  return new Set([...deletions, ...(await ownedOf(collections, workspace, others))])
}
