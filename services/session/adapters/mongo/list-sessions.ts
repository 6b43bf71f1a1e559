import type { Document, Filter } from 'mongodb'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { Place, SessionQuery, UnreadableSession } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { withFoldedSearch } from '../common/fold-case.ts'
import { toListed } from '../tables/sessions.ts'
import type { Collections, SessionDocument } from './collections.ts'

/** Entries of an index that are gone through in one piece: the first time, and at most. */
const FIRST_PIECE = 256
const LARGEST_PIECE = 16_384

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** See SessionLists.listSessions. */
export async function* listSessions(
  collections: Collections,
  workspace: string,
  query: SessionQuery,
): AsyncGenerator<readonly (Session | UnreadableSession)[]> {
  const list = new List(collections, workspace, withFoldedSearch(query))
  for await (const documents of list.isCovered ? [list.read()] : list.scan()) yield documents.map(toListed)
}

/** A list, whose filters the server compares. */
class List {
  readonly #sessions: Collections['sessions']
  readonly #query: SessionQuery
  readonly #direction: 1 | -1
  readonly #hint: string
  /** What the index answers. */
  readonly #indexed: Document
  readonly #filter: Document
  readonly isCovered: boolean

  constructor({ sessions }: Collections, workspace: string, query: SessionQuery) {
    this.#sessions = sessions
    this.#query = query
    this.#direction = query.order === Order.ASCENDING ? 1 : -1
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

  /**
   * Goes through the index, piece by piece; each ends with all sessions of one time. Yields nothing until the last
   * piece.
   */
  async *scan(): AsyncGenerator<readonly SessionDocument[]> {
    const { limit } = this.#query
    const [beyond, within] = this.#direction === 1 ? ['$gt', '$lte'] : ['$lt', '$gte']
    // A session that moves on meanwhile is found again.
    const documents = new Map<string, SessionDocument>()
    let times = timesOf(this.#query)
    for (let size = FIRST_PIECE; ; size = Math.min(2 * size, LARGEST_PIECE)) {
      const last = await this.#lastOf(times, size)
      const piece = last === undefined ? times : { ...times, [within]: last }
      for (const document of await this.#find({ updateTime: piece }, limit - documents.size)) {
        documents.delete(document.sessionId)
        documents.set(document.sessionId, document)
      }
      if (last === undefined || documents.size === limit) break
      times = { ...timesOf({ ...this.#query, after: undefined }), [beyond]: last }
      yield []
    }
    yield [...documents.values()]
  }

  /** Documents of the list that are in a part of its index, in its order. */
  #find(part: Document, limit: number): Promise<SessionDocument[]> {
    const filter = { $and: [this.#filter, afterOf(this.#query), part] } as Filter<SessionDocument>
    const sort = { updateTime: this.#direction, sessionId: this.#direction }
    // Without a limit of time: however long the server takes, it keeps nobody waiting.
    return this.#sessions.find(filter, { sort, limit, hint: this.#hint }).toArray()
  }

  /** The time of the last entry of a piece of the index; undefined when there are fewer. */
  async #lastOf(times: Document, size: number): Promise<number | undefined> {
    const filter = { ...this.#indexed, updateTime: times } as Filter<SessionDocument>
    const sort = { updateTime: this.#direction, sessionId: this.#direction }
    const options = {
      sort,
      hint: this.#hint,
      skip: size - 1,
      projection: { _id: 0, updateTime: 1 },
      ...LIMIT,
    } as const
    return (await this.#sessions.findOne(filter, options))?.updateTime
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

/** What a list filters by, besides the title. */
type FilterName = 'directory' | 'projectId' | 'subpath' | 'parentId'

/** From how many characters on a search is too long for a regular expression. */
const LONG = 1_000
const NAMES = ['directory', 'projectId', 'subpath', 'parentId'] as const

function namesIn(query: SessionQuery): readonly FilterName[] {
  return NAMES.filter((name) => query[name] !== undefined)
}

/** All filters of a query, except for times. */
function filterOf(workspace: string, query: SessionQuery): Document {
  return {
    workspace,
    ...Object.fromEntries(namesIn(query).map((name) => [name, query[name]])),
    ...titled(query.search),
  }
}

/**
 * Titles that contain a text. A regular expression takes half the time of `$expr`, but the server limits its length.
 */
function titled(search: string | undefined): Document {
  if (search === undefined) return {}
  if (search.length > LONG) return { $expr: { $gte: [{ $indexOfBytes: ['$titleSearch', { $literal: search }] }, 0] } }
  const $regex = search.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('\0', '\\x00')
  return { titleSearch: { $regex } }
}

/** Between which times a list lies; its first one has others, too, that lie before it. */
function timesOf({ order, until, after }: Omit<SessionQuery, 'after'> & { readonly after?: Place | undefined }): {
  readonly $gte?: number
  readonly $lte?: number
} {
  const most = order === Order.DESCENDING ? (after?.updateTime ?? until) : until
  return {
    ...(order === Order.ASCENDING && after !== undefined ? { $gte: after.updateTime } : {}),
    ...(most === undefined ? { $exists: true } : { $lte: most }),
  }
}

/** What lies in a list after a place. */
function afterOf(query: SessionQuery): Document {
  const times = { updateTime: timesOf(query) }
  if (query.after === undefined) return times
  const { updateTime, sessionId } = query.after
  const beyond = query.order === Order.ASCENDING ? '$gt' : '$lt'
  return { ...times, $or: [{ updateTime: { [beyond]: updateTime } }, { sessionId: { [beyond]: sessionId } }] }
}
