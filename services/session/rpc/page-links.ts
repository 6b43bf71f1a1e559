/**
 * Tokens of the pages around a page: none at the ends of the list, and none around an empty page. A page that was
 * reached through a token has a neighbour where it came from.
 */
export function linkPages<T>(
  items: readonly T[],
  more: boolean,
  reachedBy: 'next' | 'previous' | undefined,
  token: (item: T, direction: 'next' | 'previous') => string,
): { nextPageToken: string; previousPageToken: string } {
  const first = items[0]
  const last = items.at(-1)
  const next = last !== undefined && (reachedBy === 'previous' || more)
  const previous = first !== undefined && (reachedBy === 'next' || (reachedBy === 'previous' && more))
  return { nextPageToken: next ? token(last, 'next') : '', previousPageToken: previous ? token(first, 'previous') : '' }
}
