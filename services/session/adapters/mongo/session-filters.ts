import type { Document } from 'mongodb'
import type { Place, SessionQuery } from '#services/session/ports/session-lists.ts'

/** What a list filters by, besides the title. */
export type FilterName = 'directory' | 'projectId' | 'subpath' | 'parentId'

/** From how many characters on a search is too long for a regular expression. */
const LONG = 1_000
const NAMES = ['directory', 'projectId', 'subpath', 'parentId'] as const

/** The filters of a query. */
export function namesIn(query: SessionQuery): readonly FilterName[] {
  return NAMES.filter((name) => query[name] !== undefined)
}

/** All filters of a query, except for times. */
export function filterOf(workspace: string, query: SessionQuery): Document {
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
export function timesOf({
  order,
  until,
  after,
}: Omit<SessionQuery, 'after'> & { readonly after?: Place | undefined }): {
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
export function afterOf(query: SessionQuery): Document {
  const times = { timeUpdated: timesOf(query) }
  if (query.after === undefined) return times
  const { timeUpdated, id } = query.after
  const beyond = query.order === 'ascending' ? '$gt' : '$lt'
  return { ...times, $or: [{ timeUpdated: { [beyond]: timeUpdated } }, { id: { [beyond]: id } }] }
}
