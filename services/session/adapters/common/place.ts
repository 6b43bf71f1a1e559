/** The position of a session in the lists. */
export interface Place {
  readonly timeUpdated: number
  readonly id: string
}

/** Compares places as the stores do: texts by their bytes. */
export function comparePlaces(a: Place, b: Place): number {
  return a.timeUpdated - b.timeUpdated || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))
}

/** The first items of a list, at most `limit`; an item may be given twice. */
export function firstOf<T extends Place>(items: readonly T[], order: 'ascending' | 'descending', limit: number): T[] {
  const sign = order === 'ascending' ? 1 : -1
  const single = [...new Map(items.map((item) => [item.id, item])).values()]
  return single.sort((a, b) => sign * comparePlaces(a, b)).slice(0, limit)
}
