import type { Document, Filter } from 'mongodb'
import type { Session } from '#services/session/domain/session.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { withFoldedSearch } from '../common/fold-case.ts'
import { gramsOf } from '../common/grams.ts'
import { comparePlaces, firstOf, type Place } from '../common/place.ts'
import { race } from '../common/race.ts'
import { toSession } from '../common/session-record.ts'
import type { Collections, SessionDocument } from './collections.ts'
import { hourOf } from './search-keys.ts'

/** Documents that are read in one piece: the first time, and at most. */
const FIRST_PIECE = 200
const LARGEST_PIECE = 1_000
/** Documents with a gram that are read in one piece. */
const SEARCHED = 500
/** So many grams of a search are compared for the rarest, as far as that number. */
const GRAMS = 4
const RARE = 1_000

const BY_GRAM = 'sessionsByGramAndHour'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** What filters compare. */
const COMPARED = { _id: 1, id: 1, timeUpdated: 1, parentId: 1, directory: 1, projectId: 1, subpath: 1, titleSearch: 1 }
type Compared = Pick<SessionDocument, keyof typeof COMPARED>
type Names = 'directory' | 'projectId' | 'subpath' | 'parentId'

/** See SessionLists.listSessions. */
export async function* listSessions(
  collections: Collections,
  workspace: string,
  given: SessionQuery,
): AsyncGenerator<readonly Session[]> {
  const query = withFoldedSearch(given)
  const list = new List(collections, workspace, query)
  const grams = gramsOf(query.search ?? '')
  if (list.isCovered) yield (await list.read(query.after, query.limit)).map(toSession)
  else {
    const ways = [...(grams.length === 0 ? [] : [list.search(grams)]), list.scan()]
    for await (const found of race(ways)) yield found.map(toSession)
  }
}

class List {
  readonly #collections: Collections
  readonly #query: SessionQuery
  readonly #hint: string
  /** What the index answers. */
  readonly #filter: Document
  readonly isCovered: boolean

  constructor(collections: Collections, workspace: string, query: SessionQuery) {
    this.#collections = collections
    this.#query = query
    const [hint, names] = indexOf(query)
    this.#hint = hint
    this.#filter = { workspace, ...Object.fromEntries(names.map((name) => [name, query[name]])) }
    const filters = (['directory', 'projectId', 'subpath', 'parentId', 'search'] as const).filter(
      (name) => query[name] !== undefined,
    )
    this.isCovered = filters.length === names.length
  }

  /** Documents of the index after a place. */
  read(after: Place | undefined, limit: number, projection: Document = { grams: 0 }): Promise<SessionDocument[]> {
    const { order, until } = this.#query
    const direction = order === 'ascending' ? 1 : -1
    const filter = { ...this.#filter, ...rangeOf(order, after, until) } as Filter<SessionDocument>
    const sort = { timeUpdated: direction, id: direction } as const
    return this.#collections.sessions.find(filter, { sort, limit, hint: this.#hint, projection, ...LIMIT }).toArray()
  }

  /** Goes through the index, piece by piece, and returns the documents that the other filters let through. */
  async *scan(): AsyncGenerator<number, readonly SessionDocument[]> {
    const { limit } = this.#query
    const found: SessionDocument[] = []
    let { after } = this.#query as { after?: Place }
    for (let size = FIRST_PIECE; ; size = Math.min(2 * size, LARGEST_PIECE)) {
      const rows: readonly Compared[] = await this.read(after, size, COMPARED)
      const matching = rows.filter((row) => this.#matches(row))
      const taken = matching.slice(0, limit - found.length)
      found.push(...(await this.#whole(taken)))
      const isRest = taken.length === matching.length
      if (found.length === limit || (isRest && rows.length < size)) return found
      after = isRest ? rows.at(-1) : taken.at(-1)
      yield rows.length
    }
  }

  /** Goes through what has the rarest of some grams, hour by hour, and keeps the first ones of the list. */
  async *search(grams: readonly string[]): AsyncGenerator<number, readonly SessionDocument[]> {
    const { order, limit } = this.#query
    const { sessions } = this.#collections
    const { workspace } = this.#filter
    const filter = { workspace, grams: await this.#rarest(grams), hour: hoursOf(this.#query) }
    const sort = { hour: order === 'ascending' ? 1 : -1 } as const
    // Without a limit of time, which would be that of all its batches together.
    const options = { sort, hint: BY_GRAM, projection: COMPARED, batchSize: SEARCHED }
    await using cursor = sessions.find<Compared>(filter as Filter<SessionDocument>, options)
    let best: SessionDocument[] = []
    while (await cursor.hasNext()) {
      const read = cursor.readBufferedDocuments()
      const rows = read.filter((row) => this.#matches(row))
      const first = new Set(firstOf<Place>([...best, ...rows], order, limit).map(({ id }) => id))
      const fresh = await this.#whole(rows.filter(({ id }) => first.has(id)))
      best = firstOf([...best, ...fresh], order, limit)
      if (best.length === limit && this.#isBefore(best.at(-1), read.at(-1))) return best
      yield read.length
    }
    return best
  }

  /** Whether a session comes before all that are found in the hour of another one. */
  #isBefore(session: Place | undefined, other: Place | undefined): boolean {
    if (session === undefined || other === undefined) return false
    const hours = hourOf(other.timeUpdated) - hourOf(session.timeUpdated)
    return this.#query.order === 'ascending' ? hours > 0 : hours < 0
  }

  /** The documents of rows, as far as they are still there. */
  async #whole(rows: readonly Compared[]): Promise<SessionDocument[]> {
    const _ids = rows.map(({ _id }) => _id)
    if (_ids.length === 0) return []
    const options = { projection: { grams: 0 }, ...LIMIT }
    const documents = await this.#collections.sessions.find({ _id: { $in: _ids } }, options).toArray()
    // One that has changed meanwhile stands elsewhere in the list.
    const known = new Map(rows.map(({ id, timeUpdated }) => [id, timeUpdated]))
    const same = documents.filter((document) => known.get(document.id) === document.timeUpdated)
    const still = same.filter((document) => this.#matches(document))
    return firstOf(still, this.#query.order, rows.length)
  }

  #matches(row: Compared): boolean {
    const { search, order, after, until, directory, projectId, subpath, parentId } = this.#query
    const sign = order === 'ascending' ? 1 : -1
    return (
      (directory === undefined || row.directory === directory) &&
      (projectId === undefined || row.projectId === projectId) &&
      (subpath === undefined || row.subpath === subpath) &&
      (parentId === undefined || row.parentId === parentId) &&
      (search === undefined || row.titleSearch?.includes(search) === true) &&
      (until === undefined || row.timeUpdated <= until) &&
      (after === undefined || sign * comparePlaces(row, after) > 0)
    )
  }

  /** The gram that fewest sessions have, among some of them. */
  async #rarest(grams: readonly string[]): Promise<string | undefined> {
    const { workspace } = this.#filter
    const step = Math.max(1, (grams.length - 1) / (GRAMS - 1))
    const some = [...new Set(Array.from({ length: GRAMS }, (_, i) => grams[Math.round(i * step)]))]
    const options = { limit: RARE, hint: BY_GRAM, ...LIMIT }
    const counts = some.map(async (gram) => {
      if (gram === undefined) return { gram, count: Number.POSITIVE_INFINITY }
      const filter = { workspace, grams: gram } as Filter<SessionDocument>
      return { gram, count: await this.#collections.sessions.countDocuments(filter, options) }
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

function rangeOf(order: SessionQuery['order'], after: Place | undefined, until: number | undefined): Document {
  if (after === undefined) return until === undefined ? {} : { timeUpdated: { $lte: until } }
  const { timeUpdated, id } = after
  if (order === 'descending') {
    return { timeUpdated: { $lte: timeUpdated }, $or: [{ timeUpdated: { $lt: timeUpdated } }, { id: { $lt: id } }] }
  }
  const end = until === undefined ? {} : { $lte: until }
  return {
    timeUpdated: { $gte: timeUpdated, ...end },
    $or: [{ timeUpdated: { $gt: timeUpdated } }, { id: { $gt: id } }],
  }
}

/** The hours that a list may have sessions of. */
function hoursOf({ order, until, after }: SessionQuery): Document {
  const most = order === 'descending' && after !== undefined ? after.timeUpdated : until
  return {
    ...(most === undefined ? { $exists: true } : { $lte: hourOf(most) }),
    ...(order === 'ascending' && after !== undefined ? { $gte: hourOf(after.timeUpdated) } : {}),
  }
}
