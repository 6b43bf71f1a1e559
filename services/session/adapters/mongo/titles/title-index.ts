import { setImmediate } from 'node:timers/promises'
import { HOUR_MS, hourOf } from '#services/session/adapters/common/titles/moves-title.ts'
import { addPlace, BLOCK } from '#services/session/adapters/common/titles/place-sets.ts'
import { termsOf } from '#services/session/adapters/common/titles/title-terms.ts'
import { systemClock } from '#shared/clock.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { type Collections, SERVER_NOW, type SessionDocument } from '../collections.ts'
import { BY_TITLE_PLACE, DOCUMENTS, documentOf, namedPlaces, placesOf, termsKey, termsKeys } from './title-blocks.ts'

/** How long a process may take for a block before others may make one, too, which is harmless. */
const TURN_MS = 60_000
/** How long not to look again after the index was found complete. */
const PAUSE_MS = 1_000
/** How many terms to gather before others get a turn: this takes a millisecond or two. */
const PIECE = 4_096
/** Maximum number of terms of all titles of a block. */
const MOST_TERMS = 131_072
/** How many sessions to place, and how many documents of terms to write, at once. */
const PLACED = 128
const WRITTEN = 8
/** How many blocks to check for what is left of them, after each new one. */
const LOOKS = 8
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
const FILTERS = { workspace: 1, parentId: 1, directory: 1, projectId: 1, subpath: 1 } as const
const TITLED = { ...FILTERS, version: 1, titlePlace: 1, timeUpdated: 1, titleSearch: 1 } as const

/** Another process has removed the block in the meantime. */
class BlockClosed extends Error {}

/** The content of a new block. */
interface Gathered {
  readonly sessions: readonly SessionDocument[]
  /** For each document that will contain some of the terms: their places. */
  readonly documents: readonly ReadonlyMap<number, readonly number[]>[]
  readonly oldest: number
  readonly newest: number
}

/**
 * The index of titles, like the one in SQLite, but separate for each workspace. A new session waits to be indexed, and
 * waits again if its title, a value that lists filter by, or the hour of its last activity changes. Once enough
 * sessions wait to fill a block, they get places in a new one, oldest first, in the background. A block contains the
 * places of each term, and the hours that its sessions are from. It does not change, except that sessions leave it.
 * When less than half of them are left, these wait again, and the block is removed.
 *
 * A session gets its place only if it was not written since it was read, and only while its block exists. So a process
 * may be killed or paused at any time, and two may do the same work.
 */
export class MongoTitleIndex implements AsyncDisposable {
  readonly #mongo: Mongo
  readonly #collections: Collections
  readonly #ending = new AbortController()
  /** Workspaces in which enough sessions for a block may wait. */
  readonly #due = new Set<string>()
  #running: Promise<void> | undefined
  #again = 0

  constructor(mongo: Mongo, collections: Collections) {
    this.#mongo = mongo
    this.#collections = collections
  }

  /** A session was written: checks now and then whether enough of them wait for a block. */
  wrote(workspace: string): void {
    if (Math.random() * BLOCK < 4) this.look(workspace)
  }

  /** Indexes the sessions that wait in a workspace, if they fill a block. */
  look(workspace: string): void {
    if (this.#ending.signal.aborted) return
    if (this.#running === undefined && systemClock.monotonic() < this.#again) return
    this.#due.add(workspace)
    this.#running ??= this.#run()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      // A workspace that is added again gets another turn, after the others.
      for (const workspace of this.#due) {
        this.#due.delete(workspace)
        if (await this.#indexBlock(workspace)) this.#due.add(workspace)
      }
    } catch {
      // The server is unavailable, or the store is closed. Waiting sessions are found without the index, too.
    } finally {
      this.#due.clear()
      this.#again = systemClock.monotonic() + PAUSE_MS
      this.#running = undefined
    }
  }

  /** Returns whether there may be more. */
  async #indexBlock(workspace: string): Promise<boolean> {
    const { sessions, titleTurns } = this.#collections
    const options = { limit: BLOCK, hint: BY_TITLE_PLACE, ...LIMIT }
    if ((await sessions.countDocuments({ workspace, titlePlace: { $lt: 0 } }, options)) < BLOCK) return false
    const free = { _id: 'blocks' as const, $expr: { $lte: ['$until', SERVER_NOW] } }
    const taken = { last: { $add: ['$last', 1] }, until: { $add: [SERVER_NOW, TURN_MS] } }
    const turn = await titleTurns.findOneAndUpdate(free, [{ $set: taken }], { returnDocument: 'after', ...LIMIT })
    if (turn === null) return false
    try {
      await this.#write(workspace, turn.last, await this.#gather(workspace))
      await this.#clear(workspace)
    } finally {
      await titleTurns.updateOne({ _id: 'blocks', last: turn.last }, { $set: { until: 0 } }, LIMIT)
    }
    return true
  }

  async #gather(workspace: string): Promise<Gathered> {
    const waiting = this.#collections.sessions.find(
      { workspace, titlePlace: { $lt: 0 } },
      { sort: { titlePlace: -1 }, limit: BLOCK, batchSize: PLACED, hint: BY_TITLE_PLACE, projection: TITLED, ...LIMIT },
    )
    const sessions: SessionDocument[] = []
    const documents = Array.from({ length: DOCUMENTS }, () => new Map<number, number[]>())
    let [count, turn, oldest, newest] = [0, PIECE, Number.MAX_SAFE_INTEGER, 0]
    for await (const session of waiting) {
      const terms = termsOf(session, session.titleSearch ?? '')
      for (const term of terms) addPlace(documents[documentOf(term)] as Map<number, number[]>, term, sessions.length)
      sessions.push(session)
      const hour = hourOf(session.timeUpdated)
      oldest = Math.min(oldest, hour)
      newest = Math.max(newest, hour)
      count += terms.length
      if (count >= MOST_TERMS) break
      if (count < turn) continue
      turn = count + PIECE
      await setImmediate()
    }
    return { sessions, documents, oldest, newest }
  }

  async #write(workspace: string, block: number, { sessions, documents, oldest, newest }: Gathered): Promise<void> {
    const { titleBlocks, titleTerms } = this.#collections
    await titleBlocks.insertOne({ _id: block, workspace, oldest, newest, placed: 0 }, LIMIT)
    for (let from = 0; from < DOCUMENTS; from += WRITTEN) {
      this.#ending.signal.throwIfAborted()
      const some = documents.slice(from, from + WRITTEN)
      const inserts = some.map((terms, i) => ({ _id: termsKey(block, from + i), places: namedPlaces(terms) }))
      await titleTerms.insertMany(inserts, LIMIT)
    }
    for (let from = 0; from < sessions.length; from += PLACED) {
      this.#ending.signal.throwIfAborted()
      await this.#place(block, from, sessions.slice(from, from + PLACED))
    }
  }

  /** Gives sessions places from one on, in a transaction with the block: a process that removes it closes it first. */
  #place(block: number, from: number, placed: readonly SessionDocument[]): Promise<void> {
    const { sessions, titleBlocks } = this.#collections
    const keys = placed.map(({ _id }) => _id)
    const at = { $indexOfArray: [{ $literal: keys }, '$_id'] }
    const version = { $arrayElemAt: [{ $literal: placed.map(({ version }) => version) }, at] }
    const unwritten = { _id: { $in: keys }, titlePlace: { $lt: 0 }, $expr: { $eq: ['$version', version] } }
    const update = [{ $set: { titlePlace: { $add: [block * BLOCK + from, at] } } }]
    return this.#mongo.transact(async (session) => {
      const options = { ...LIMIT, session }
      const { matchedCount } = await sessions.updateMany(unwritten, update, options)
      const open = { _id: block, closed: { $exists: false } }
      const found = await titleBlocks.updateOne(open, { $inc: { placed: matchedCount } }, options)
      if (found.matchedCount === 0) throw new BlockClosed()
    })
  }

  /** Checks some blocks, and removes those that are less than half full or were not completed. */
  async #clear(workspace: string): Promise<void> {
    const { sessions, titleBlocks, titleTerms } = this.#collections
    const some = titleBlocks.aggregate<{ readonly _id: number; readonly placed: number }>(
      [{ $match: { workspace } }, { $sample: { size: LOOKS } }],
      LIMIT,
    )
    for (const { _id: block, placed } of await some.toArray()) {
      const there = { workspace, titlePlace: placesOf(block) }
      const left = await sessions.countDocuments(there, { hint: BY_TITLE_PLACE, ...LIMIT })
      if (left > placed / 2) continue
      this.#ending.signal.throwIfAborted()
      await titleBlocks.updateOne({ _id: block }, { $set: { closed: true } }, LIMIT)
      const hour = { $floor: { $divide: ['$timeUpdated', HOUR_MS] } }
      await sessions.updateMany(there, [{ $set: { titlePlace: { $subtract: [-1, hour] } } }], LIMIT)
      await titleTerms.deleteMany({ _id: termsKeys(block) }, LIMIT)
      await titleBlocks.deleteOne({ _id: block }, LIMIT)
    }
  }
}
