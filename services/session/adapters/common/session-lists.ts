import type { Page } from '#services/session/ports/session-lists.ts'

/** The direction to read in: against the order for the items before an anchor. */
export function readsForward(query: { order: string; anchor?: { direction: 'next' | 'previous' } }): boolean {
  return (query.order === 'ascending') === (query.anchor?.direction !== 'previous')
}

/** Makes a page of what was read in that direction: one item more than wanted, where there are more. */
export function toPage<R, T>(
  rows: readonly R[],
  query: { limit: number; anchor?: { direction: 'next' | 'previous' } },
  toItem: (row: R) => T,
): Page<T> {
  const items = rows.slice(0, query.limit).map(toItem)
  if (query.anchor?.direction === 'previous') items.reverse()
  return { items, more: rows.length > query.limit }
}

/** How large something is that is read. */
export interface Sized {
  readonly bytes: number
}

/** How many of these have no more bytes together, at least one; `all`: there is none beyond them. */
export function fitting(
  sizes: Iterable<Sized>,
  most = Number.POSITIVE_INFINITY,
): { readonly count: number; readonly all: boolean } {
  let count = 0
  let sum = 0
  for (const { bytes } of sizes) {
    sum += bytes
    if (sum > most && count > 0) return { count, all: false }
    count++
  }
  return { count, all: true }
}

/** Saved approvals that are listed at once. */
export const MOST_APPROVALS = 10_000
