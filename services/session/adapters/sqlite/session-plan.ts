import type { SQLInputValue } from 'node:sqlite'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { Place, SessionQuery } from '#services/session/ports/session-lists.ts'

export interface Condition {
  readonly sql: string
  readonly values: readonly SQLInputValue[]
}

/** Entries of one index, in the order of (updateTime, sessionId). */
interface Source {
  readonly index: string
  readonly where: Condition
}

/** How a list is read: from which indexes, and by which further condition. */
export interface SessionPlan {
  readonly sources: readonly Source[]
  /** Undefined: all entries of the indexes are in the list. */
  readonly rest: Condition | undefined
}

type Filter = 'parentId' | 'directory' | 'projectId' | 'subpath' | 'search'

/**
 * Every single filter has an index. Roots and children, and sessions with a subpath, have separate ones, so that a
 * session that moves up in the lists moves in as few indexes as possible: most are roots without a subpath.
 */
export function planOf(workspace: string, query: SessionQuery): SessionPlan {
  const { names, covered } = wayOf(query)
  const sources = names.map(([index, conditions]) => {
    return { index, where: all([{ sql: 'workspace = ?', values: [workspace] }, ...conditions]) }
  })
  const rest = filtersOf(query).filter(([filter]) => !covered.includes(filter))
  return { sources, rest: rest.length === 0 ? undefined : all(rest.map(([, condition]) => condition)) }
}

function wayOf(query: SessionQuery): {
  readonly names: readonly (readonly [index: string, conditions: readonly Condition[]])[]
  readonly covered: readonly Filter[]
} {
  const { parentId, directory, projectId, subpath } = query
  const conditions = Object.fromEntries(filtersOf(query)) as Readonly<Record<Filter, Condition>>
  if (typeof parentId === 'string') {
    return { names: [['sessionsByParent', [conditions.parentId]]], covered: ['parentId'] }
  }
  if (directory !== undefined) {
    return { names: [['sessionsByDirectory', [conditions.directory]]], covered: ['directory'] }
  }
  if (projectId !== undefined) {
    const atRoot = ['sessionsAtProjectRoot', [conditions.projectId, literally("subpath = ''")]] as const
    const below = [conditions.projectId, literally("subpath <> ''")]
    if (subpath === undefined) {
      return { names: [atRoot, ['sessionsBelowProjectRoot', below]], covered: ['projectId'] }
    }
    const bySubpath = ['sessionsBySubpath', [...below, conditions.subpath]] as const
    return { names: [subpath === '' ? atRoot : bySubpath], covered: ['projectId', 'subpath'] }
  }
  const roots = ['sessionsRoots', [literally('parentId IS NULL')]] as const
  const children = ['sessionsChildren', [literally('parentId IS NOT NULL')]] as const
  return parentId === null ? { names: [roots], covered: ['parentId'] } : { names: [roots, children], covered: [] }
}

export function filtersOf(query: SessionQuery): (readonly [Filter, Condition])[] {
  const { parentId, directory, projectId, subpath, search } = query
  const filters: (readonly [Filter, Condition])[] = []
  const add = (filter: Filter, sql: string, value: string | undefined): void => {
    if (value !== undefined) filters.push([filter, { sql, values: [value] }])
  }
  if (parentId === null) filters.push(['parentId', literally('parentId IS NULL')])
  else add('parentId', 'parentId = ?', parentId)
  add('directory', 'directory = ?', directory)
  add('projectId', 'projectId = ?', projectId)
  add('subpath', 'subpath = ?', subpath)
  add('search', 'instr(titleSearch, ?) > 0', search)
  return filters
}

/** The condition for places after one and up to another, in the direction of reading. */
export function between(
  { order, until }: Pick<SessionQuery, 'order' | 'until'>,
  after: Place | undefined,
  to: Place | undefined,
): Condition | undefined {
  const [beyond, within] = order === Order.ASCENDING ? ['>', '<='] : ['<', '>=']
  const conditions: Condition[] = []
  if (after !== undefined) conditions.push(placed(beyond, after))
  if (to !== undefined) conditions.push(placed(within, to))
  // A second bound on the same side would only keep the index from being entered at the first one.
  const bounded = (order === Order.ASCENDING ? to : after) !== undefined
  if (until !== undefined && !bounded) conditions.push({ sql: 'updateTime <= ?', values: [until] })
  return conditions.length === 0 ? undefined : all(conditions)
}

export function all(conditions: readonly (Condition | undefined)[]): Condition {
  const present = conditions.filter((condition) => condition !== undefined)
  return { sql: present.map(({ sql }) => sql).join(' AND '), values: present.flatMap(({ values }) => values) }
}

function placed(sign: string | undefined, { updateTime, sessionId }: Place): Condition {
  return { sql: `(updateTime, sessionId) ${sign} (?, ?)`, values: [updateTime, sessionId] }
}

function literally(sql: string): Condition {
  return { sql, values: [] }
}
