import type { Page, SessionQuery } from '../ports.ts'

/** The index that serves a list of sessions: the narrowest one that its filters allow. Both stores use these names. */
export type SessionListIndex = 'sessionsByTime' | 'sessionsByParent' | 'sessionsByProject' | 'sessionsByDirectory'

export function sessionListIndex(query: SessionQuery): SessionListIndex {
  if (query.directory !== undefined) return 'sessionsByDirectory'
  if (query.parentId !== undefined && query.parentId !== null) return 'sessionsByParent'
  if (query.projectId !== undefined) return 'sessionsByProject'
  return query.parentId === null ? 'sessionsByParent' : 'sessionsByTime'
}

/** The direction to read in: against the order for the items before an anchor. */
export function readsForward(query: { order: string; anchor?: { direction: 'next' | 'previous' } }): boolean {
  return (query.order === 'ascending') === (query.anchor?.direction !== 'previous')
}

/** Makes a page of what was read in that direction: one item more than asked for, where there are more. */
export function toPage<R, T>(
  rows: readonly R[],
  query: { limit: number; anchor?: { direction: 'next' | 'previous' } },
  toItem: (row: R) => T,
): Page<T> {
  const items = rows.slice(0, query.limit).map(toItem)
  if (query.anchor?.direction === 'previous') items.reverse()
  return { items, more: rows.length > query.limit }
}
