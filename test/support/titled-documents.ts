import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { BLOCK } from '#services/session/adapters/common/titles/place-sets.ts'
import {
  type Collections,
  collectionsOf,
  keyOf,
  type SessionDocument,
} from '#services/session/adapters/mongo/collections.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { waitingPlace } from '#services/session/adapters/mongo/titles/title-blocks.ts'
import { MongoTitleIndex } from '#services/session/adapters/mongo/titles/title-index.ts'
import { searchTitles } from '#services/session/adapters/mongo/titles/title-search.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { ManualClock, newSession, OTHER, W } from '#test/contract/session-store.support.ts'
import { freshDatabaseName, mongoUri } from './mongo.ts'
import { type UseCases, withUseCases } from './session-use-cases.ts'
import { waitUntil } from './wait-until.ts'

export const HOUR_MS = 3_600_000
const WORDS = ['parser', 'lexer', 'gateway', 'ledger', 'renderer']

const TITLED = ['id', 'titleSearch', 'titlePlace', 'timeUpdated', 'projectId', 'directory', 'parentId'] as const

/** What of a session decides which searches find it. */
type Titled = Pick<SessionDocument, (typeof TITLED)[number]>

export type Query = Pick<SessionQuery, 'order'> & Partial<SessionQuery> & { readonly search: string }

/** A database of sessions with titles, and what may happen to them. */
export class TitledDocuments implements AsyncDisposable {
  readonly mongo: Mongo
  readonly collections: Collections
  readonly clock: ManualClock
  readonly store: UseCases
  readonly titles: MongoTitleIndex
  readonly #first: SessionDocument
  #count = 0

  constructor(mongo: Mongo, store: UseCases, clock: ManualClock, first: SessionDocument) {
    this.mongo = mongo
    this.clock = clock
    this.collections = collectionsOf(mongo.db)
    this.store = store
    this.titles = new MongoTitleIndex(mongo, this.collections)
    this.#first = first
  }

  /** Some more sessions, each that many milliseconds after the one before. */
  async add(count: number, stepMs: number): Promise<void> {
    const documents = Array.from({ length: count }, (): SessionDocument => {
      this.clock.advance(stepMs)
      const i = ++this.#count
      const title = `${WORDS[i % 5]} of the ${WORDS[(i >> 1) % 5]} ${i}`
      const [workspace, id, timeUpdated] = [i % 50 === 0 ? OTHER : W, `ses_${i}`, this.clock.now()]
      const scope = { parentId: i % 3 === 0 ? 'ses_1' : null, projectId: i % 2 === 0 ? 'even' : 'odd' }
      const own = {
        ...scope,
        workspace,
        id,
        title,
        titleSearch: title,
        timeUpdated,
        directory: i % 7 === 0 ? '/a' : '/b',
      }
      return { ...this.#first, ...own, _id: keyOf(workspace, id), titlePlace: waitingPlace(timeUpdated) }
    })
    await this.collections.sessions.insertMany(documents)
  }

  /** Indexes every complete block. */
  async indexed(titles = this.titles): Promise<void> {
    await waitUntil('the index', async () => {
      titles.look(W)
      // The server takes a while to count them.
      const turn = await this.turn()
      if (turn !== null && turn.until > 0) return undefined
      return (await this.waiting()) < BLOCK ? true : undefined
    })
    // Its turn is over when what is left of other blocks was looked at.
    await waitUntil('its turn to end', async () => ((await this.turn())?.until === 0 ? true : undefined))
  }

  /** How many sessions wait for the index. */
  waiting(): Promise<number> {
    return this.collections.sessions.countDocuments({ workspace: W, titlePlace: { $lt: 0 } })
  }

  async blocks(): Promise<number[]> {
    return (await this.collections.titleBlocks.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id)
  }

  turn() {
    return this.collections.titleTurns.findOne()
  }

  /** Follows a search of the index to its end, whatever comes between its pieces. */
  async find(query: Query, between = async (): Promise<void> => {}): Promise<string[]> {
    const search = searchTitles(this.collections, W, { limit: 20, ...query })
    for (;;) {
      const { done, value } = await search.next()
      if (done === true) return value.map(({ id }) => id)
      await between()
      await setImmediate()
    }
  }

  /** The sessions that searches may find. */
  sessions(): Promise<Titled[]> {
    const projection = Object.fromEntries(TITLED.map((member) => [member, 1]))
    return this.collections.sessions
      .find({ workspace: W, titleSearch: { $type: 'string' } })
      .project<Titled>({ ...projection, _id: 0 })
      .toArray()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.titles[Symbol.asyncDispose]()
    await this.store[Symbol.asyncDispose]()
    await this.mongo.db.dropDatabase()
    await this.mongo[Symbol.asyncDispose]()
  }
}

/** A database without sessions. */
export async function titledDocuments(): Promise<TitledDocuments> {
  const mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  const clock = new ManualClock()
  const store = withUseCases(await openMongoSessionStore({ mongo, clock }))
  await store.createSession(W, newSession('ses_0', { title: 'a title' }))
  const { sessions } = collectionsOf(mongo.db)
  const first = await sessions.findOneAndDelete({})
  assert.ok(first)
  return new TitledDocuments(mongo, store, clock, first)
}

/** What a list contains, computed from the sessions alone. */
export function expected(query: Query, sessions: readonly Titled[]): string[] {
  const { order, search, projectId, directory, parentId, until, after, limit = 20 } = query
  const isAscending = order === 'ascending'
  return sessions
    .filter(
      (session) =>
        session.titleSearch?.includes(search) &&
        (projectId === undefined || session.projectId === projectId) &&
        (directory === undefined || session.directory === directory) &&
        (parentId === undefined || session.parentId === parentId) &&
        (until === undefined || session.timeUpdated <= until) &&
        (after === undefined || (isAscending ? isBefore(after, session) : isBefore(session, after))),
    )
    .sort((a, b) => (isBefore(a, b) === isAscending ? -1 : 1))
    .slice(0, limit)
    .map(({ id }) => id)
}

type Place = Pick<SessionDocument, 'timeUpdated' | 'id'>

function isBefore(a: Place, b: Place): boolean {
  return a.timeUpdated < b.timeUpdated || (a.timeUpdated === b.timeUpdated && a.id < b.id)
}

/** Many lists find what they should. */
export async function findsAll(all: TitledDocuments, what: string): Promise<void> {
  const sessions = await all.sessions()
  const { timeUpdated, id } = sessions[sessions.length >> 1] as Titled
  const filters = [{ projectId: 'even' }, { directory: '/a' }, { parentId: null }, { parentId: 'ses_1' }]
  const ranges = [{ after: { timeUpdated, id } }, { until: timeUpdated }]
  for (const search of ['parser', 'lexer of', 'er of the g', 'ger 17', 'nowhere', 'renamed', ' 123']) {
    const queries = [{}, ...filters, ...ranges, { ...ranges[0], ...filters[0] }].flatMap((more): Query[] => [
      { search, order: 'ascending', ...more },
      { search, order: 'descending', ...more },
    ])
    await Promise.all(
      queries.map(async (query) => {
        assert.deepEqual(await all.find(query), expected(query, sessions), `${what}: ${JSON.stringify(query)}`)
      }),
    )
  }
}
