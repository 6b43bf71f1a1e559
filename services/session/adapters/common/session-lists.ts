import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { Page } from '#services/session/ports/session-lists.ts'

/** Whether to read in ascending order: items before an anchor are read backwards. */
export function readsForward(query: { order: Order; anchor?: { direction: 'next' | 'previous' } }): boolean {
  return (query.order === Order.ASCENDING) === (query.anchor?.direction !== 'previous')
}

/**
 * Makes a page of rows that were read in that direction; one row more than the page has shows that there is another
 * page.
 */
export function toPage<R, T>(
  rows: readonly R[],
  query: { limit: number; anchor?: { direction: 'next' | 'previous' } },
  toItem: (row: R) => T,
): Page<T> {
  const items = rows.slice(0, query.limit).map(toItem)
  if (query.anchor?.direction === 'previous') items.reverse()
  return { items, more: rows.length > query.limit }
}

export interface Sized {
  readonly bytes: number
}

/** How many of the first records fit, at least one; `all`: all of them do. */
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

/** Maximum number of approvals in a list. */
export const MOST_APPROVALS = 10_000
