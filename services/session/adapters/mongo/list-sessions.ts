import type { Document, Filter } from 'mongodb'
import type { Session } from '#services/session/domain/session.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { withFoldedSearch } from '../common/fold-case.ts'
import { gramsOf } from '../common/grams.ts'
import type { Place } from '../common/place.ts'
import { race } from '../common/race.ts'
import { toSession } from '../common/session-record.ts'
import type { Collections, SessionDocument } from './collections.ts'
import { hourOf } from './search-keys.ts'

/** Entries of an index that are gone through in one piece: the first time, and at most. */
const FIRST_PIECE = 256
const LARGEST_PIECE = 16_384
/** While the hours of a piece take no longer than that, in milliseconds, the next one has twice as many. */
const SHORT_MS = 20
/** So many grams of a search are compared for the rarest, as far as that number. */
const GRAMS = 4
const RARE = 1_000
const BY_GRAM = 'sessionsByGramAndHour'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
type Names = 'directory' | 'projectId' | 'subpath' | 'parentId'
const NAMES = ['directory', 'projectId', 'subpath', 'parentId'] as const

/** See SessionLists.listSessions. */
export async function* listSessions(
  collections: Collections,
  workspace: string,
  given: SessionQuery,
): AsyncGenerator<readonly Session[]> {
  const query = withFoldedSearch(given)
  const list = new List(collections, workspace, query)
  const grams = gramsOf(query.search ?? '')
  if (list.isCovered) yield (await list.read()).map(toSession)
  else {
    const ways = [...(grams.length === 0 ? [] : [list.search(grams)]), list.scan()]
    for await (const found of race(ways)) yield found.map(toSession)
  }
}

/** A list, whose filters the server compares. What a piece has cost is the time that it took, in milliseconds. */
class List {
  readonly #sessions: Collections['sessions']
  readonly #workspace: string
  readonly #query: SessionQuery
  readonly #direction: 1 | -1
  readonly #hint: string
  /** What the index answers. */
  readonly #indexed: Document
  /** All filters. */
  readonly #filter: Document
  readonly isCovered: boolean

  constructor({ sessions }: Collections, workspace: string, query: SessionQuery) {
    this.#sessions = sessions
    this.#workspace = workspace
    this.#query = query
    this.#direction = query.order === 'ascending' ? 1 : -1
    const [hint, names] = indexOf(query)
    const given = NAMES.filter((name) => query[name] !== undefined)
    this.#hint = hint
    this.#indexed = { workspace, ...Object.fromEntries(names.map((name) => [name, query[name]])) }
    this.#filter = {
      workspace,
      ...Object.fromEntries(given.map((name) => [name, query[name]])),
      ...titled(query.search),
    }
    this.isCovered = query.search === undefined && given.length === names.length
  }

  /** The first documents of the list. */
  read(): Promise<SessionDocument[]> {
    const { limit } = this.#query
    return this.#find(this.#hint, {}, limit)
  }

  /** Goes through the index, piece by piece; each ends with all sessions of one time. */
  async *scan(): AsyncGenerator<number, readonly SessionDocument[]> {
    const { limit } = this.#query
    const [beyond, within] = this.#direction === 1 ? ['$gt', '$lte'] : ['$lt', '$gte']
    const found: SessionDocument[] = []
    let times = timesOf(this.#query)
    for (let size = FIRST_PIECE; ; size = Math.min(2 * size, LARGEST_PIECE)) {
      const began = performance.now()
      const last = await this.#lastOf(times, size)
      const piece = last === undefined ? times : { ...times, [within]: last }
      found.push(...(await this.#find(this.#hint, { timeUpdated: piece }, limit - found.length)))
      if (last === undefined || found.length === limit) return found
      times = { ...timesOf({ ...this.#query, after: undefined }), [beyond]: last }
      yield performance.now() - began
    }
  }

  /** Goes through what has the rarest of some grams, some hours at once. */
  async *search(grams: readonly string[]): AsyncGenerator<number, readonly SessionDocument[]> {
    const { limit } = this.#query
    const gram = { workspace: this.#workspace, grams: await this.#rarest(grams) }
    const [first, last] = await Promise.all([this.#hourOf(gram, this.#direction), this.#hourOf(gram, -this.#direction)])
    const found: SessionDocument[] = []
    if (first === undefined || last === undefined) return found
    const left = (hour: number): number => (last - hour) * this.#direction
    for (let [hour, count] = [first, 1]; left(hour) >= 0; ) {
      const began = performance.now()
      const end = hour + (count - 1) * this.#direction
      const hours = { hour: { $gte: Math.min(hour, end), $lte: Math.max(hour, end) } }
      found.push(...(await this.#find(BY_GRAM, { ...gram, ...hours }, limit - found.length)))
      if (found.length === limit) break
      const ms = performance.now() - began
      hour = end + this.#direction
      count = ms < SHORT_MS ? 2 * count : Math.max(1, count >> 1)
      yield ms
    }
    return found
  }

  /** Documents of the list that are in a part of an index, in its order. */
  #find(hint: string, part: Document, limit: number): Promise<SessionDocument[]> {
    const filter = { $and: [this.#filter, afterOf(this.#query), part] } as Filter<SessionDocument>
    const sort = { timeUpdated: this.#direction, id: this.#direction }
    // Without a limit of time: however long the server goes through an hour, it keeps nobody waiting.
    return this.#sessions.find(filter, { sort, limit, hint, projection: { grams: 0 } }).toArray()
  }

  /** The time of the last entry of a piece of the index; undefined when there are fewer. */
  async #lastOf(times: Document, size: number): Promise<number | undefined> {
    const filter = { ...this.#indexed, timeUpdated: times } as Filter<SessionDocument>
    const sort = { timeUpdated: this.#direction, id: this.#direction }
    const options = {
      sort,
      hint: this.#hint,
      skip: size - 1,
      projection: { _id: 0, timeUpdated: 1 },
      ...LIMIT,
    } as const
    return (await this.#sessions.findOne(filter, options))?.timeUpdated
  }

  /** The first hour, in a direction, in which the list may have sessions with a gram. */
  async #hourOf(gram: Document, direction: number): Promise<number | undefined> {
    const { $gte, $lte } = timesOf(this.#query)
    const hour = {
      ...($gte === undefined ? { $exists: true } : { $gte: hourOf($gte) }),
      ...($lte === undefined ? {} : { $lte: hourOf($lte) }),
    }
    const options = { sort: { hour: direction as 1 | -1 }, hint: BY_GRAM, projection: { hour: 1 }, ...LIMIT } as const
    return (await this.#sessions.findOne({ ...gram, hour } as Filter<SessionDocument>, options))?.hour
  }

  /** The gram that fewest sessions have, among some of them. */
  async #rarest(grams: readonly string[]): Promise<string | undefined> {
    const step = Math.max(1, (grams.length - 1) / (GRAMS - 1))
    const some = [...new Set(Array.from({ length: GRAMS }, (_, i) => grams[Math.round(i * step)]))]
    const options = { limit: RARE, hint: BY_GRAM, ...LIMIT }
    const counts = some.map(async (gram) => {
      if (gram === undefined) return { gram, count: Number.POSITIVE_INFINITY }
      const filter = { workspace: this.#workspace, grams: gram } as Filter<SessionDocument>
      return { gram, count: await this.#sessions.countDocuments(filter, options) }
    })
    return (await Promise.all(counts)).reduce((a, b) => (b.count < a.count ? b : a)).gram
  }
}

/** The narrowest index that the filters of a list allow, and which of them it answers. */
function indexOf({ directory, projectId, subpath, parentId }: SessionQuery): readonly [string, readonly Names[]] {
  if (typeof parentId === 'string') return ['sessionsByParent', ['parentId']]
  if (directory !== undefined) return ['sessionsByDirectory', ['directory']]
  if (projectId !== undefined && subpath !== undefined) return ['sessionsBySubpath', ['projectId', 'subpath']]
  if (projectId !== undefined) return ['sessionsByProject', ['projectId']]
  return parentId === null ? ['sessionsByParent', ['parentId']] : ['sessionsByTime', []]
}

/** Titles that contain a text. */
function titled(search: string | undefined): Document {
  if (search === undefined) return {}
  return { $expr: { $gte: [{ $indexOfBytes: ['$titleSearch', { $literal: search }] }, 0] } }
}

/** Between which times a list lies; its first one has others, too, that lie before it. */
function timesOf({ order, until, after }: Omit<SessionQuery, 'after'> & { readonly after?: Place | undefined }): {
  readonly $gte?: number
  readonly $lte?: number
} {
  const most = order === 'descending' ? (after?.timeUpdated ?? until) : until
  return {
    ...(order === 'ascending' && after !== undefined ? { $gte: after.timeUpdated } : {}),
    ...(most === undefined ? { $exists: true } : { $lte: most }),
  }
}

/** What lies in a list after a place. */
function afterOf(query: SessionQuery): Document {
  const times = { timeUpdated: timesOf(query) }
  if (query.after === undefined) return times
  const { timeUpdated, id } = query.after
  const beyond = query.order === 'ascending' ? '$gt' : '$lt'
  return { ...times, $or: [{ timeUpdated: { [beyond]: timeUpdated } }, { id: { [beyond]: id } }] }
}
