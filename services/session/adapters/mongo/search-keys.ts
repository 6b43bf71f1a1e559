import { gramsOf } from '../common/grams.ts'

const HOUR_MS = 3_600_000

/** The hour of a time, counted since the epoch. */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS)
}

/** What searches find a session by. */
interface SearchKeys {
  grams?: readonly string[]
  hour?: number
}

/** Adds the grams of the title and the hour of the last activity, where these are given. */
export function withSearchKeys<
  R extends { readonly titleSearch?: string | null | undefined; readonly timeUpdated?: number | undefined },
>(record: R): R & SearchKeys {
  const keys: SearchKeys = {}
  if (typeof record.titleSearch === 'string') keys.grams = gramsOf(record.titleSearch)
  if (record.timeUpdated !== undefined) keys.hour = hourOf(record.timeUpdated)
  return { ...record, ...keys }
}
