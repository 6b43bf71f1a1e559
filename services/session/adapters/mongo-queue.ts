import { MongoServerError } from 'mongodb'
import { systemClock } from '#shared/clock.ts'
import type { Mongo } from '#shared/mongo.ts'
import { mongoProblem } from '#shared/mongo-problem.ts'
import { Rejection } from '#shared/rejection.ts'
import { storeUnavailable } from '#shared/store-outage.ts'
import { MongoBatch } from './mongo-batch.ts'
import { type Collections, keyOf } from './mongo-collections.ts'

/** Changes a session through a batch. May run several times, and must have no effect but on the batch. */
export type MongoJob<T> = (batch: MongoBatch) => Promise<T>

/** So many jobs share a transaction at most. */
const BATCH = 50
/** A record that another session's transaction inserts at the same time is seen by the next attempt. */
const ATTEMPTS = 3
const DUPLICATE_KEY = 11_000

interface Waiting {
  readonly job: MongoJob<unknown>
  /** Monotonic time after which it is not begun any more. */
  readonly until: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome = { readonly answer: unknown } | { readonly rejection: Rejection }

/**
 * Runs the jobs of each session one after the other, and those that wait meanwhile in one transaction: callers at once
 * would otherwise wait for each other's write conflicts, for seconds. Other processes may still come between; then the
 * server refuses one of the two transactions, and it is run again.
 */
export class MongoQueue {
  readonly #mongo: Mongo
  readonly #collections: Collections
  readonly #waiting = new Map<string, Waiting[]>()

  constructor(mongo: Mongo, collections: Collections) {
    this.#mongo = mongo
    this.#collections = collections
  }

  /**
   * Resolves after the commit with the job's answer; a Rejection of the job writes nothing and sinks no neighbour. A job that
   * could not be begun within `limitMs` rejects with STORE_UNAVAILABLE.
   */
  run<T>(workspace: string, sessionId: string, limitMs: number, job: MongoJob<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const key = keyOf(workspace, sessionId)
      const until = systemClock.monotonic() + limitMs
      const entry = { job, until, resolve: resolve as (answer: unknown) => void, reject }
      const waiting = this.#waiting.get(key)
      if (waiting !== undefined) {
        waiting.push(entry)
        return
      }
      this.#waiting.set(key, [entry])
      void this.#drain(workspace, sessionId, key)
    })
  }

  async #drain(workspace: string, sessionId: string, key: string): Promise<void> {
    // Callers of the same turn go together.
    await Promise.resolve()
    for (;;) {
      const entries = this.#waiting.get(key)?.splice(0, BATCH) ?? []
      if (entries.length === 0) break
      const transact = (some: readonly Waiting[]) => this.#transact(workspace, sessionId, some)
      try {
        settle(entries, await transact(entries))
      } catch (error) {
        // There is no use in trying one by one.
        if (mongoProblem(error) !== undefined) for (const { reject } of entries) reject(error)
        // One of them may be at fault: each has a transaction of its own.
        else for (const entry of entries) await alone(entry, transact)
      }
    }
    this.#waiting.delete(key)
  }

  #transact(workspace: string, sessionId: string, entries: readonly Waiting[]): Promise<Outcome[]> {
    const limitMs = Math.max(...entries.map(({ until }) => until)) - systemClock.monotonic()
    return this.#mongo.transact(async (session) => {
      const batch = new MongoBatch(this.#collections, workspace, sessionId, session)
      const outcomes: Outcome[] = []
      for (const entry of entries) outcomes.push(await outcomeOf(entry, batch))
      await batch.flush()
      return outcomes
    }, limitMs)
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
  for (const [i, entry] of entries.entries()) {
    const outcome = outcomes[i] as Outcome
    if ('answer' in outcome) entry.resolve(outcome.answer)
    else entry.reject(outcome.rejection)
  }
}
