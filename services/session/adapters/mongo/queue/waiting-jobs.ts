import { CommitUnknown } from '#shared/stores/mongo-transactions.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import type { MongoBatch } from '../batch.ts'

/** Changes a session through a batch. May run several times, and must affect nothing but the batch. */
export type MongoJob<T> = (batch: MongoBatch) => Promise<T>

/** Maximum number of jobs that share a transaction. */
const BATCH = 50
/** Jobs whose limits are within so many milliseconds of each other are given up together. */
const TOGETHER_MS = 500

/** A job that waits for its transaction. */
export interface Waiting {
  readonly job: MongoJob<unknown>
  readonly patient: boolean
  readonly first: boolean
  /** Monotonic time after which it is no longer started. */
  readonly until: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Takes the first waiting job, and those after it that may share its transaction. */
export function take(waiting: Waiting[]): Waiting[] {
  const other = waiting.findIndex(({ patient }) => patient !== waiting[0]?.patient)
  return waiting.splice(0, Math.min(BATCH, other === -1 ? BATCH : other))
}

/** Lets jobs wait again, before all others except those that go first. */
export function putBack(waiting: Waiting[], entries: readonly Waiting[]): void {
  const at = waiting.findIndex(({ first }) => !first)
  waiting.splice(at === -1 ? waiting.length : at, 0, ...entries)
}

/** Rejects a job whose time is over, if it is still waiting. */
export function drop(entry: Waiting, waiting: Waiting[]): void {
  const at = waiting.indexOf(entry)
  if (at === -1) return
  waiting.splice(at, 1)
  entry.reject(storeUnavailable('the record was locked for too long'))
}

/**
 * Nobody may get an error while their write is still being tried. Returns the jobs that have time for another attempt.
 */
export function giveUp(entries: readonly Waiting[], error: unknown): Waiting[] {
  const last = error instanceof CommitUnknown ? Number.POSITIVE_INFINITY : earliest(entries) + TOGETHER_MS
  for (const { until, reject } of entries) if (until <= last) reject(error)
  return entries.filter(({ until }) => until > last)
}

/** The monotonic time at which the first of them is given up. */
export function earliest(entries: readonly Waiting[]): number {
  return Math.min(...entries.map(({ until }) => until))
}
