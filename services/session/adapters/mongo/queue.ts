import { type ClientSession, MongoServerError } from 'mongodb'
import { systemClock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { mongoProblem } from '#shared/stores/mongo-problem.ts'
import { CommitUnknown } from '#shared/stores/mongo-transactions.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { MongoBatch } from './batch.ts'
import { type Collections, keyOf } from './collections.ts'

/** Changes a session through a batch. May run several times, and must affect nothing but the batch. */
export type MongoJob<T> = (batch: MongoBatch) => Promise<T>

/** Maximum number of jobs that share a transaction. */
const BATCH = 50
/** Jobs whose limits are within so many milliseconds of each other are given up together. */
const TOGETHER_MS = 500
/**
 * After this time, in milliseconds, a transaction takes no further job: nobody else can write its session meanwhile.
 */
const BATCH_MS = 500
/** Maximum number of waiting jobs of one session, besides those that are running. */
const MOST_JOBS = 1_000
/** A record that another session's transaction inserts at the same time is seen by the next attempt. */
const ATTEMPTS = 3
const DUPLICATE_KEY = 11_000

/** How long a job is tried. */
export interface JobLimits {
  readonly limitMs: number
  /** The caller can only wait; such a job never shares a transaction with others, which end sooner. */
  readonly patient: boolean
  /** It runs before everything that waits. */
  readonly first?: boolean
}

interface Waiting {
  readonly job: MongoJob<unknown>
  readonly patient: boolean
  readonly first: boolean
  /** Monotonic time after which it is no longer started. */
  readonly until: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly answer: unknown } | { readonly rejection: Rejection }

/**
 * Runs the jobs of each session one after the other, and those that wait meanwhile in one transaction: concurrent
 * callers would otherwise wait for seconds because of each other's write conflicts. Other processes may still write in
 * between; then the server refuses one of the two transactions, and it is run again.
 */
export class MongoQueue {
  readonly #mongo: Mongo
  readonly #collections: Collections
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(mongo: Mongo, collections: Collections) {
    this.#mongo = mongo
    this.#collections = collections
  }

  /** Whether this process is writing a session, or about to. */
  isBusy(workspace: string, sessionId: string): boolean {
    return this.#waiting.has(keyOf(workspace, sessionId))
  }

  /**
   * Resolves after the commit with the job's answer. A job that throws a Rejection writes nothing, and does not affect
   * the others. A job that could not begin within `limitMs`, or that has too many others ahead of it, rejects with
   * STORE_UNAVAILABLE and is forgotten.
   */
  run<T>(
    workspace: string,
    sessionId: string,
    { limitMs, patient, first = false }: JobLimits,
    job: MongoJob<T>,
  ): Promise<T> {
    const key = keyOf(workspace, sessionId)
    const waiting = this.#waiting.get(key) ?? []
    if (waiting.length >= MOST_JOBS) return Promise.reject(storeUnavailable('too many writes of the session wait'))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const until = systemClock.monotonic() + limitMs
    const entry = { job, patient, first, until, resolve: resolve as (answer: unknown) => void, reject }
    if (first) waiting.unshift(entry)
    else waiting.push(entry)
    if (!this.#waiting.has(key)) {
      this.#waiting.set(key, waiting)
      void this.#drain(workspace, sessionId, waiting)
    }
    const late = setTimeout(() => drop(entry, waiting), limitMs)
    return promise.finally(() => clearTimeout(late))
  }

  /** Runs the waiting jobs until there are none. */
  async #drain(workspace: string, sessionId: string, waiting: Waiting[]): Promise<void> {
    // Jobs of the same turn share a transaction.
    await Promise.resolve()
    const transact = (some: readonly Waiting[]) => this.#transact(workspace, sessionId, some)
    for (let entries = take(waiting); entries.length > 0; entries = take(waiting)) {
      try {
        const outcomes = await transact(entries)
        settle(entries, outcomes)
        putBack(waiting, entries.slice(outcomes.length))
      } catch (error) {
        // Trying them one by one would be of no use.
        if (mongoProblem(error) !== undefined) putBack(waiting, giveUp(entries, error))
        // One of them may be at fault: each has a transaction of its own.
        else for (const entry of entries) await alone(entry, transact)
      }
    }
    this.#waiting.delete(keyOf(workspace, sessionId))
  }

  /** The outcomes of the first of these jobs: of as many as there was time for, but at least one. */
  #transact(workspace: string, sessionId: string, entries: readonly Waiting[]): Promise<Outcome[]> {
    let isFirst = true
    return this.#mongo.transact(async (session) => {
      const batch = new MongoBatch(this.#collections, workspace, sessionId, session)
      const until = systemClock.monotonic() + BATCH_MS
      // What takes long, or was refused before, would be refused at its end because of any short write in between.
      if (entries.length > 1 || !isFirst) await this.#lock(workspace, sessionId, session)
      isFirst = false
      const outcomes: Outcome[] = []
      for (const entry of entries) {
        outcomes.push(await outcomeOf(entry, batch))
        if (systemClock.monotonic() >= until) break
      }
      await batch.flush()
      return outcomes
    }, earliest(entries) - systemClock.monotonic())
  }

  /** Prevents everybody else from writing a session until the transaction ends. */
  async #lock(workspace: string, sessionId: string, session: ClientSession): Promise<void> {
    const options = { session, maxTimeMS: MAX_TIME_MS }
    const filter = { _id: keyOf(workspace, sessionId) }
    await this.#collections.sessions.updateOne(filter, { $inc: { version: 1 } }, options)
  }
}

/** Rules reject before anything is written, so that a rejection leaves the transaction as it was. */
async function outcomeOf({ job, until }: Waiting, batch: MongoBatch): Promise<Outcome> {
  if (systemClock.monotonic() > until) return { rejection: storeUnavailable('the record was locked for too long') }
  try {
    return { answer: await job(batch) }
  } catch (error) {
    if (error instanceof Rejection) return { rejection: error }
    throw error
  }
}

async function alone(entry: Waiting, transact: (entries: readonly Waiting[]) => Promise<Outcome[]>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      settle([entry], await transact([entry]))
      return
    } catch (error) {
      if (attempt < ATTEMPTS && error instanceof MongoServerError && error.code === DUPLICATE_KEY) continue
      entry.reject(error)
      return
    }
  }
}

function settle(entries: readonly Waiting[], outcomes: readonly Outcome[]): void {
  for (const [i, outcome] of outcomes.entries()) {
    const entry = entries[i] as Waiting
    if ('answer' in outcome) entry.resolve(outcome.answer)
    else entry.reject(outcome.rejection)
  }
}

/** Takes the first waiting job, and those after it that may share its transaction. */
function take(waiting: Waiting[]): Waiting[] {
  const other = waiting.findIndex(({ patient }) => patient !== waiting[0]?.patient)
  return waiting.splice(0, Math.min(BATCH, other === -1 ? BATCH : other))
}

/** Lets jobs wait again, before all others except those that go first. */
function putBack(waiting: Waiting[], entries: readonly Waiting[]): void {
  const at = waiting.findIndex(({ first }) => !first)
  waiting.splice(at === -1 ? waiting.length : at, 0, ...entries)
}

/** Rejects a job whose time is over, if it is still waiting. */
function drop(entry: Waiting, waiting: Waiting[]): void {
  const at = waiting.indexOf(entry)
  if (at === -1) return
  waiting.splice(at, 1)
  entry.reject(storeUnavailable('the record was locked for too long'))
}

/**
 * Nobody may get an error while their write is still being tried. Returns the jobs that have time for another attempt.
 */
function giveUp(entries: readonly Waiting[], error: unknown): Waiting[] {
  const last = error instanceof CommitUnknown ? Number.POSITIVE_INFINITY : earliest(entries) + TOGETHER_MS
  for (const { until, reject } of entries) if (until <= last) reject(error)
  return entries.filter(({ until }) => until > last)
}

/** The monotonic time at which the first of them is given up. */
function earliest(entries: readonly Waiting[]): number {
  return Math.min(...entries.map(({ until }) => until))
}
