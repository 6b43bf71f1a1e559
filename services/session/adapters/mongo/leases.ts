import { setTimeout as delay } from 'node:timers/promises'
import type { ClientSession } from 'mongodb'
import type { AcquiredLease, Lease, LeaseState } from '#services/session/ports/lease.ts'
import { systemClock } from '#shared/clock.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { isLocked, isSlow } from '#shared/stores/mongo-transactions.ts'
import { type Collections, keyOf, SERVER_NOW } from './collections.ts'

/** So many sessions are read together. */
const CANDIDATES = 20
/** For so long a claim waits for sessions that others write right now, when there is nothing else, in milliseconds. */
const PATIENCE_MS = 250
/** A session whose record somebody is writing is left for that time, in milliseconds, and twice as long each time it is met so. */
const FIRST_LEAVE_MS = 20
const LONGEST_LEAVE_MS = 10_000
/** A claim takes that long at most, in milliseconds, and a session whose claim took longer is left for that time. */
const CLAIM_MS = 1_000
const SLOW_LEAVE_MS = 250

/** For so long a renewal waits for the record, in milliseconds: its caller tries again. */
const RENEWAL_MS = 2_000

/** Until when a session is left, on the monotonic clock, and for how long. */
interface Left {
  readonly until: number
  readonly ms: number
}

/**
 * Gives leases. A record that an open transaction has written can't be claimed, and such a transaction may belong to a
 * process that is gone. So candidates are claimed one by one, each in a transaction: there the server refuses a locked record
 * at once, where another write would wait for it.
 */
export class MongoLeases {
  readonly #mongo: Mongo
  readonly #sessions: Collections['sessions']
  /** Sessions that were locked when they were last looked at. */
  readonly #locked = new Map<string, Left>()

  constructor(mongo: Mongo, { sessions }: Collections) {
    this.#mongo = mongo
    this.#sessions = sessions
  }

  /** Gives the lease that could be had for the longest time, by the server's clock; among those that are not locked. */
  async claim(owner: string, durationMs: number, except: readonly string[]): Promise<AcquiredLease | undefined> {
    const until = systemClock.monotonic() + PATIENCE_MS
    for (;;) {
      const { lease, again } = await this.#pass(owner, durationMs, except)
      if (lease !== undefined || again >= until) return lease
      await delay(Math.max(1, again - systemClock.monotonic()))
    }
  }

  /**
   * Extends a lease; undefined when it is lost. One write of its own, that waits for the transaction that writes the session
   * right now, and for none of those that come after it.
   */
  async renew({ workspace, sessionId, fence }: Lease, durationMs: number): Promise<LeaseState | undefined> {
    const until = { $add: [SERVER_NOW, durationMs] }
    const changes = {
      version: { $add: ['$version', 1] },
      leaseUntil: until,
      claimableAt: { $cond: [{ $gt: ['$claimableAt', 0] }, until, null] },
    }
    const live = { _id: keyOf(workspace, sessionId), fence, $expr: { $gt: ['$leaseUntil', SERVER_NOW] } }
    const options = { projection: { interruptRequested: 1 }, maxTimeMS: RENEWAL_MS }
    try {
      const record = await this.#sessions.findOneAndUpdate(live, [{ $set: changes }], options)
      return record === null ? undefined : { interruptRequested: record.interruptRequested === 1 }
    } catch (error) {
      if (isLocked(error)) void this.#endDeadTransactions()
      throw error
    }
  }

  /**
   * Whether a lease is held; in the transaction, which writes its session, so that the server lets nobody else take it, or remove
   * the session, at the same time.
   */
  async keep({ workspace, sessionId, fence }: Lease, session: ClientSession): Promise<boolean> {
    const live = { _id: keyOf(workspace, sessionId), fence, $expr: { $gt: ['$leaseUntil', SERVER_NOW] } }
    const options = { session, maxTimeMS: MAX_TIME_MS }
    return (await this.#sessions.updateOne(live, { $inc: { version: 1 } }, options)).matchedCount > 0
  }

  /** Looks at each candidate once. `again`: when the first of those that were locked may be looked at again. */
  async #pass(
    owner: string,
    durationMs: number,
    except: readonly string[],
  ): Promise<{ readonly lease?: AcquiredLease | undefined; readonly again: number }> {
    const met = new Set<string>()
    for (;;) {
      const keys = await this.#candidates(met, except)
      for (const key of keys) {
        const lease = await this.#claimOne(key, owner, durationMs)
        if (lease !== undefined) return { lease, again: 0 }
        met.add(key)
      }
      // What is left of these is locked, or was claimed by others.
      if (keys.length < CANDIDATES) break
    }
    let again = Number.POSITIVE_INFINITY
    for (const key of met) again = Math.min(again, this.#locked.get(key)?.until ?? again)
    return { again }
  }

  async #candidates(met: ReadonlySet<string>, except: readonly string[]): Promise<string[]> {
    const now = systemClock.monotonic()
    const left: string[] = []
    for (const [key, { until, ms }] of this.#locked) {
      if (until > now) left.push(key)
      // Nobody has read it for a long time.
      else if (until + ms + LONGEST_LEAVE_MS < now) this.#locked.delete(key)
    }
    const cursor = this.#sessions.find(
      { ...CLAIMABLE, _id: { $nin: [...left, ...met] }, workspace: { $nin: [...except] } },
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
    const options = {
      returnDocument: 'before',
      projection: { workspace: 1, id: 1, fence: 1, attempts: 1, running: 1, leaseUntil: 1 },
      maxTimeMS: CLAIM_MS,
    } as const
    try {
      const record = await this.#mongo.transact((session) =>
        this.#sessions
          .findOneAndUpdate({ _id, ...CLAIMABLE }, [{ $set: changes }], { ...options, session })
          // Not to be tried again at once.
          .catch((error: unknown) => Promise.reject(isLocked(error) ? new Refused(isSlow(error)) : error)),
      )
      this.#locked.delete(_id)
      if (record === null) return undefined
      const { workspace, id, fence, attempts, running, leaseUntil: heldUntil } = record
      const unfinished = running === 1
      return { workspace, sessionId: id, fence: fence + 1, unfinished, acquisitions: (attempts ?? 0) + 1, heldUntil }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const former = this.#locked.get(_id)?.ms ?? FIRST_LEAVE_MS / 2
      const ms = error.slow ? SLOW_LEAVE_MS : Math.min(former * 2, LONGEST_LEAVE_MS)
      this.#locked.set(_id, { until: systemClock.monotonic() + ms, ms })
      if (!error.slow) void this.#endDeadTransactions()
      return undefined
    }
  }

  async #endDeadTransactions(): Promise<void> {
    // What they locked can be had now.
    if (await this.#mongo.endDeadTransactions()) this.#locked.clear()
  }
}

/** Somebody else is writing the record, or the server was too slow for any. */
class Refused extends Error {
  readonly slow: boolean

  constructor(slow: boolean) {
    super()
    this.slow = slow
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
