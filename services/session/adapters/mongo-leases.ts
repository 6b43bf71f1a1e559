import { MongoServerError } from 'mongodb'
import { systemClock } from '#shared/clock.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/mongo.ts'
import type { AcquiredLease } from '../ports.ts'
import { type Collections, SERVER_NOW } from './mongo-collections.ts'

/** So many sessions are looked at together. */
const CANDIDATES = 20
/** A session whose record somebody is writing is left for the next one after that time, in milliseconds. */
const CLAIM_MS = 250
/** And is not looked at again before that time is over. */
const LEAVE_MS = 900
/** MaxTimeMSExpired, LockTimeout, WriteConflict. */
const LOCKED = new Set<unknown>([50, 24, 112])

/**
 * Gives leases. A record that an open transaction has written can't be claimed, and such a transaction may belong to a
 * process that is gone: candidates are claimed one by one, each within a short time, so that one holds up no other.
 */
export class MongoLeases {
  readonly #mongo: Mongo
  readonly #sessions: Collections['sessions']
  readonly #locked = new Map<string, number>()

  constructor(mongo: Mongo, { sessions }: Collections) {
    this.#mongo = mongo
    this.#sessions = sessions
  }

  /** Gives the lease that could be had for the longest time, by the server's clock; among those that are not locked. */
  async claim(owner: string, durationMs: number): Promise<AcquiredLease | undefined> {
    for (;;) {
      const keys = await this.#candidates()
      for (const key of keys) {
        const lease = await this.#claimOne(key, owner, durationMs)
        if (lease !== undefined) return lease
      }
      // What is left of these is locked, or was claimed by others.
      if (keys.length < CANDIDATES) return undefined
    }
  }

  async #candidates(): Promise<string[]> {
    const now = systemClock.monotonic()
    for (const [key, until] of this.#locked) if (until <= now) this.#locked.delete(key)
    const cursor = this.#sessions.find(
      { ...CLAIMABLE, _id: { $nin: [...this.#locked.keys()] } },
      { projection: { _id: 1 }, sort: { claimableAt: 1 }, limit: CANDIDATES, maxTimeMS: MAX_TIME_MS },
    )
    return (await cursor.toArray()).map(({ _id }) => _id)
  }

  async #claimOne(_id: string, owner: string, durationMs: number): Promise<AcquiredLease | undefined> {
    const until = { $add: [SERVER_NOW, durationMs] }
    const changes = {
      fence: { $add: ['$fence', 1] },
      attempts: { $add: [{ $ifNull: ['$attempts', 0] }, 1] },
      version: { $add: ['$version', 1] },
      leaseOwner: { $literal: owner },
      leaseUntil: until,
      claimableAt: until,
    }
    try {
      const record = await this.#sessions.findOneAndUpdate({ _id, ...CLAIMABLE }, [{ $set: changes }], {
        returnDocument: 'after',
        projection: { workspace: 1, id: 1, fence: 1, attempts: 1, running: 1 },
        maxTimeMS: CLAIM_MS,
      })
      if (record === null) return undefined
      const { workspace, id, fence, attempts, running } = record
      return { workspace, sessionId: id, fence, unfinished: running === 1, attempt: attempts }
    } catch (error) {
      if (!(error instanceof MongoServerError) || !LOCKED.has(error.code)) throw error
      this.#locked.set(_id, systemClock.monotonic() + LEAVE_MS)
      void this.#mongo.endDeadTransactions()
      return undefined
    }
  }
}

const CLAIMABLE = { claimableAt: { $gt: 0 }, $expr: { $lte: ['$claimableAt', SERVER_NOW] } }

/** Sessions of a workspace with a live lease. */
export async function listActive({ sessions }: Collections, workspace: string): Promise<string[]> {
  const live = { $gt: ['$leaseUntil', SERVER_NOW] }
  const cursor = sessions.find(
    { workspace, leaseUntil: { $gt: 0 }, $expr: live },
    { projection: { id: 1 }, maxTimeMS: MAX_TIME_MS },
  )
  return (await cursor.toArray()).map(({ id }) => id)
}
