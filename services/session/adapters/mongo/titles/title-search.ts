import { type ClientSession, type Document, type Filter, MongoServerError, type Sort } from 'mongodb'
import { firstOf } from '#services/session/adapters/common/place.ts'
import { hourOf } from '#services/session/adapters/common/titles/moves-title.ts'
import { BLOCK, listPlaces } from '#services/session/adapters/common/titles/place-sets.ts'
import { termsOf } from '#services/session/adapters/common/titles/title-terms.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { Collections, SessionDocument } from '../collections.ts'
import { afterOf, filterOf, timesOf } from '../session-filters.ts'
import { BY_TITLE_PLACE, type TitleBlock, waitingInHour } from './title-blocks.ts'
import { candidatesIn, type Snapshot } from './title-candidates.ts'

/** While a piece takes less than this, in milliseconds, the next one is twice as large. */
const SHORT_MS = 20
const MOST_BLOCKS = 256
/** How many candidates to read at once. */
const MANY = 1_024
/** SnapshotTooOld, SnapshotUnavailable: the server has not kept the state in which the search began. */
const SNAPSHOT_LOST: readonly unknown[] = [239, 246]
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

type Search = SessionQuery & { readonly search: string }
type Block = Pick<TitleBlock, '_id' | 'oldest' | 'newest'>

/**
 * Finds sessions by the grams of a title and by their filters, piece by piece, in the state in which the search began:
 * first those that wait to be indexed, hour by hour, then candidates from the blocks of the index, until no remaining
 * block can contain a session that comes before those that were found. The cost of a piece is the time that it took, in
 * milliseconds. For searches that have grams.
 */
export async function* searchTitles(
  collections: Collections,
  workspace: string,
  query: Search,
): AsyncGenerator<number, readonly SessionDocument[]> {
  for (;;) {
    const session = collections.db.client.startSession({ snapshot: true })
    try {
      const search = new TitleSearch(collections, session, workspace, query)
      yield* search.takeWaiting()
      yield* search.takeBlocks()
      return search.found
    } catch (error) {
      if (!(error instanceof MongoServerError) || !SNAPSHOT_LOST.includes(error.code)) throw error
      // The search begins again, unless the other way finishes in the meantime.
      yield SHORT_MS
    } finally {
      await session.endSession()
    }
  }
}

class TitleSearch {
  readonly #collections: Collections
  readonly #workspace: string
  readonly #query: Search
  readonly #direction: 1 | -1
  readonly #filter: Document
  readonly #terms: number[]
  readonly #options: Snapshot
  /** The first sessions of the list among those that were read. */
  found: readonly SessionDocument[] = []

  constructor(collections: Collections, session: ClientSession, workspace: string, query: Search) {
    this.#collections = collections
    this.#workspace = workspace
    this.#query = query
    this.#direction = query.order === 'ascending' ? 1 : -1
    this.#filter = { $and: [filterOf(workspace, query), afterOf(query)] }
    this.#terms = termsOf(query, query.search)
    this.#options = { session, readConcern: { level: 'snapshot' } }
  }

  /** Reads sessions that wait, in the order of the list, until that is full. */
  async *takeWaiting(): AsyncGenerator<number, void> {
    const [first, last] = [await this.#waitingHour(this.#direction), await this.#waitingHour(-this.#direction)]
    if (first === undefined || last === undefined) return
    for (let [hour, count] = [first, 1]; (last - hour) * this.#direction >= 0; ) {
      const began = performance.now()
      const end = hour + (count - 1) * this.#direction
      await this.#take({ $gte: waitingInHour(Math.max(hour, end)), $lte: waitingInHour(Math.min(hour, end)) })
      if (this.found.length === this.#query.limit) return
      hour = end + this.#direction
      const ms = performance.now() - began
      count = next(count, ms)
      yield ms
    }
  }

  /** Reads sessions that are in the index. */
  async *takeBlocks(): AsyncGenerator<number, void> {
    const blocks = await this.#blocks()
    for (let [from, count] = [0, 1]; from < blocks.length; ) {
      const began = performance.now()
      const piece = blocks.slice(from, from + count)
      if (this.#endsBefore(piece[0] as Block)) return
      await this.#takeFrom(piece)
      from += count
      const ms = performance.now() - began
      count = Math.min(next(count, ms), MOST_BLOCKS)
      yield ms
    }
  }

  /** The first hour, in a direction, from which waiting sessions may be in the list. */
  async #waitingHour(direction: number): Promise<number | undefined> {
    const { $gte, $lte } = timesOf(this.#query)
    const titlePlace = {
      $lt: 0,
      ...($lte === undefined ? {} : { $gte: waitingInHour(hourOf($lte)) }),
      ...($gte === undefined ? {} : { $lte: waitingInHour(hourOf($gte)) }),
    }
    const options = { ...this.#options, ...LIMIT, hint: BY_TITLE_PLACE, projection: { _id: 0, titlePlace: 1 } } as const
    const sort = { titlePlace: -direction as 1 | -1 }
    const found = await this.#collections.sessions.findOne(
      { workspace: this.#workspace, titlePlace },
      { ...options, sort },
    )
    return found?.titlePlace === undefined ? undefined : waitingInHour(found.titlePlace)
  }

  /** The blocks that may contain sessions of the list, starting with those that may contain its first ones. */
  #blocks(): Promise<Block[]> {
    const { $gte = 0, $lte = Number.MAX_SAFE_INTEGER } = timesOf(this.#query)
    const between = { oldest: { $lte: hourOf($lte) }, newest: { $gte: hourOf($gte) } }
    const sort: Sort = this.#direction === 1 ? { oldest: 1 } : { newest: -1 }
    const options = { ...this.#options, ...LIMIT, sort, projection: { oldest: 1, newest: 1 } } as const
    return this.#collections.titleBlocks.find({ workspace: this.#workspace, ...between }, options).toArray()
  }

  /** Whether the list is full of sessions that come before all those of a block. */
  #endsBefore({ oldest, newest }: Block): boolean {
    const last = this.found.length === this.#query.limit ? this.found.at(-1) : undefined
    if (last === undefined) return false
    const hour = hourOf(last.timeUpdated)
    return this.#direction === 1 ? hour < oldest : hour > newest
  }

  async #takeFrom(blocks: readonly Block[]): Promise<void> {
    const keys = blocks.map(({ _id }) => _id)
    const common = await candidatesIn(this.#collections, this.#options, keys, this.#terms)
    let places: number[] = []
    for (const block of blocks) {
      const some = common.get(block._id)
      if (some === undefined) continue
      if (this.#endsBefore(block)) break
      for (const place of listPlaces(some)) places.push(block._id * BLOCK + place)
      if (places.length < MANY) continue
      await this.#take({ $in: places })
      places = []
    }
    if (places.length > 0) await this.#take({ $in: places })
  }

  /** Reads the sessions of the list that have certain places. */
  async #take(titlePlace: Document): Promise<void> {
    const filter = { ...this.#filter, workspace: this.#workspace, titlePlace } as Filter<SessionDocument>
    const { limit, order } = this.#query
    const sort = { timeUpdated: this.#direction, id: this.#direction }
    // Without a limit of time: however long the server takes, it keeps nobody waiting.
    const options = { ...this.#options, hint: BY_TITLE_PLACE, sort, limit }
    const taken = await this.#collections.sessions.find(filter, options).toArray()
    this.found = firstOf([...this.found, ...taken], order, limit)
  }
}

function next(count: number, ms: number): number {
  return ms < SHORT_MS ? 2 * count : Math.max(1, count >> 1)
}
