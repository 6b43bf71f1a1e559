import { isObject } from '#shared/json.ts'
import { decodePageToken, encodePageToken } from '#shared/rpc/pages.ts'
import type { Page } from '../ports/session-lists.ts'

/** Which way a page is read from its anchor. */
export type Direction = 'next' | 'previous'

export interface PageTokens {
  readonly nextPageToken: string | undefined
  readonly previousPageToken: string | undefined
}

/** What a page token holds: the query it continues, and the item it continues at. */
export interface Continuation<Q, A> {
  readonly query: Q
  readonly anchor: A & { readonly direction: Direction }
}

/**
 * Tokens for the pages around one. There is a next page when the store says that more follows, or when the page was
 * reached backwards, as then its neighbour is where the reader came from; the page before likewise.
 */
export function pageTokens<T, Q, A extends object>(
  scope: string,
  query: Q,
  page: Page<T>,
  arrived: Direction | undefined,
  anchorOf: (item: T) => A,
): PageTokens {
  const first = page.items[0]
  const last = page.items.at(-1)
  const following = arrived === 'previous' || page.more
  const preceding = arrived === 'next' || (arrived === 'previous' && page.more)
  const token = (item: T | undefined, direction: Direction): string | undefined =>
    item && encodePageToken(scope, { query, anchor: { ...anchorOf(item), direction } })
  return {
    nextPageToken: following ? token(last, 'next') : undefined,
    previousPageToken: preceding ? token(first, 'previous') : undefined,
  }
}

/** What a token continues, checked in shape; undefined for the first page. Rejects with INVALID_CURSOR. */
export function continuationOf<Q, A>(
  scope: string,
  token: string | undefined,
  isQuery: (value: unknown) => value is Q,
  isAnchor: (value: Record<string, unknown>) => boolean,
): Continuation<Q, A> | undefined {
  if (token === undefined) return undefined
  return decodePageToken(scope, token, (payload): payload is Continuation<Q, A> => {
    if (!isObject(payload) || !isObject(payload.anchor) || !isQuery(payload.query)) return false
    const { direction } = payload.anchor
    return (direction === 'next' || direction === 'previous') && isAnchor(payload.anchor)
  })
}
