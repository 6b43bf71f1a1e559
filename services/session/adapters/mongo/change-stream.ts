import {
  type ChangeStreamDocument,
  type Collection,
  type Db,
  type Document,
  MongoServerError,
  type ResumeToken,
} from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { mongoProblem } from '#shared/stores/mongo-problem.ts'
import type { Table } from './collections.ts'

/** A place in the server's log of changes: the text in a resume token. Places sort as their texts do. */
export type LogPlace = string

/** Returns the place where the log ends now; later changes come after it. */
export function endOfLog(db: Db, table: Table): Promise<LogPlace> {
  return openStream(db, table, {})
}

/** Whether the server knows a place and still has what follows it. */
export async function isKnown(db: Db, table: Table, place: LogPlace): Promise<boolean> {
  try {
    await openStream(db, table, { startAfter: tokenOf(place) })
    return true
  } catch (error) {
    if (isLost(error)) return false
    throw error
  }
}

/** The server has ended a stream: its collection was dropped or renamed. */
export class StreamEnded extends Error {
  override readonly name = 'StreamEnded'
}

/** Whether a stream failed because of its place, not because of the network or a change of primary. */
export function isLost(error: unknown): boolean {
  if (error instanceof StreamEnded) return true
  if (!(error instanceof MongoServerError) || error.hasErrorLabel('ResumableChangeStreamError')) return false
  return mongoProblem(error) === undefined
}

/**
 * The changes of a collection after a place, each with its own place, until the signal aborts. While nothing changes,
 * it yields a place alone from time to time, as a sign of life. The driver reconnects once by itself; after that, this
 * throws. Throws StreamEnded if the collection is dropped or renamed.
 */
export async function* changesAfter<T extends Document>(
  collection: Collection<T>,
  pipeline: readonly Document[],
  place: LogPlace,
  signal: AbortSignal,
  maxAwaitTimeMS: number,
): AsyncGenerator<{ readonly place: LogPlace; readonly change: ChangeStreamDocument<T> | undefined }> {
  const stream = collection.watch<T, ChangeStreamDocument<T>>([...pipeline], {
    startAfter: tokenOf(place),
    maxAwaitTimeMS,
  })
  let next: Promise<unknown> | undefined
  try {
    while (!signal.aborted) {
      const answer = stream.tryNext()
      next = answer
      const change = (await unlessAborted(answer, signal)) ?? undefined
      if (signal.aborted) return
      // The driver keeps returning "nothing yet", without even waiting.
      if (change === undefined && stream.closed)
        throw new StreamEnded(`${collection.collectionName} was dropped or renamed`)
      yield { place: placeOf(change?._id ?? stream.resumeToken), change }
    }
  } finally {
    void closeAfter(next, stream)
  }
}

/** A stream that is closed while it opens or reopens its cursor leaves the cursor behind on the server. */
async function closeAfter(next: Promise<unknown> | undefined, stream: { close(): Promise<void> }): Promise<void> {
  await next?.catch(() => {})
  await stream.close().catch(() => {})
}

/** The server answers a waiting request only when its time is over; after the signal, nobody waits for that. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = (): void => resolve(undefined)
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** The driver's own streams show their place only after a wait; a bare cursor shows it at once. */
function openStream(db: Db, table: Table, $changeStream: Document): Promise<LogPlace> {
  return db.client.withSession(async (session) => {
    const { cursor } = await db.command(
      {
        aggregate: table,
        pipeline: [{ $changeStream }],
        cursor: { batchSize: 1 },
        readConcern: { level: 'majority' },
        maxTimeMS: MAX_TIME_MS,
      },
      // A cursor's id must be sent back as an int64.
      { session, promoteLongs: false },
    )
    await db.command({ killCursors: table, cursors: [cursor.id] }, { session })
    return placeOf(cursor.postBatchResumeToken)
  })
}

function tokenOf(place: LogPlace): ResumeToken {
  return { _data: place }
}

function placeOf(token: ResumeToken): LogPlace {
  return (token as { readonly _data: string })._data
}
