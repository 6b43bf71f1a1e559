import type { Document, Filter } from 'mongodb'
import type { Session } from '#services/session/domain/session.ts'
import type { SessionQuery, UnreadableSession } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { withFoldedSearch } from '../common/fold-case.ts'
import { gramsOf } from '../common/grams.ts'
import { race } from '../common/race.ts'
import { toListed } from '../common/session-record.ts'
import type { Collections, SessionDocument } from './collections.ts'
import { afterOf, type FilterName, filterOf, namesIn, timesOf } from './session-filters.ts'
import type { MongoTitleIndex } from './titles/title-index.ts'
import { searchTitles } from './titles/title-search.ts'

/** Entries of an index that are gone through in one piece: the first time, and at most. */
const FIRST_PIECE = 256
const LARGEST_PIECE = 16_384

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** See SessionLists.listSessions. */
export async function* listSessions(
  collections: Collections,
  titles: MongoTitleIndex,
  workspace: string,
  given: SessionQuery,
): AsyncGenerator<readonly (Session | UnreadableSession)[]> {
  const query = withFoldedSearch(given)
  const { search } = query
  const list = new List(collections, workspace, query)
  if (list.isCovered) {
    yield (await list.read()).map(toListed)
  } else if (search === undefined || gramsOf(search).length === 0) {
    for await (const found of race([list.scan()])) yield found.map(toListed)
  } else {
    titles.look(workspace)
    // What many titles contain is found on the way through the list, what few contain by the index.
    const ways = [list.scan(), searchTitles(collections, workspace, { ...query, search })]
    for await (const found of race(ways)) yield found.map(toListed)
  }
}

/** A list, whose filters the server compares. What a piece has cost is the time that it took, in milliseconds. */
class List {
  readonly #sessions: Collections['sessions']
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
    this.#query = query
    this.#direction = query.order === 'ascending' ? 1 : -1
    const [hint, names] = indexOf(query)
    this.#hint = hint
    this.#indexed = { workspace, ...Object.fromEntries(names.map((name) => [name, query[name]])) }
    this.#filter = filterOf(workspace, query)
    this.isCovered = query.search === undefined && namesIn(query).length === names.length
  }

  /** The first documents of the list. */
  read(): Promise<SessionDocument[]> {
    return this.#find({}, this.#query.limit)
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
      found.push(...(await this.#find({ timeUpdated: piece }, limit - found.length)))
      if (last === undefined || found.length === limit) return found
      times = { ...timesOf({ ...this.#query, after: undefined }), [beyond]: last }
      yield performance.now() - began
    }
  }

  /** Documents of the list that are in a part of its index, in its order. */
  #find(part: Document, limit: number): Promise<SessionDocument[]> {
    const filter = { $and: [this.#filter, afterOf(this.#query), part] } as Filter<SessionDocument>
    const sort = { timeUpdated: this.#direction, id: this.#direction }
    // Without a limit of time: however long the server takes, it keeps nobody waiting.
    return this.#sessions.find(filter, { sort, limit, hint: this.#hint }).toArray()
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
}

/** The narrowest index that the filters of a list allow, and which of them it answers. */
function indexOf({ directory, projectId, subpath, parentId }: SessionQuery): readonly [string, readonly FilterName[]] {
  if (typeof parentId === 'string') return ['sessionsByParent', ['parentId']]
  if (directory !== undefined) return ['sessionsByDirectory', ['directory']]
  if (projectId !== undefined && subpath !== undefined) return ['sessionsBySubpath', ['projectId', 'subpath']]
  if (projectId !== undefined) return ['sessionsByProject', ['projectId']]
  return parentId === null ? ['sessionsByParent', ['parentId']] : ['sessionsByTime', []]
}
