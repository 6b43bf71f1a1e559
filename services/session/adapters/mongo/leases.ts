import { setTimeout as delay } from 'node:timers/promises'
import type { ClientSession } from 'mongodb'
import type { AcquiredLease, Lease, LeaseState } from '#services/session/ports/lease.ts'
import { systemClock } from '#shared/clock.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { isLocked, isSlow, OutOfTime } from '#shared/stores/mongo-transactions.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { type Collections, keyOf, SERVER_NOW, type SessionDocument } from './collections.ts'
import type { MongoQueue } from './queue.ts'
import type { StoreParts } from './store-parts.ts'

/** How many candidates to read at once. */
const CANDIDATES = 20
/** How long a claim waits for sessions that others are writing, if there is nothing else, in milliseconds. */
const PATIENCE_MS = 250
/** How long to leave a session whose record is being written, in milliseconds; doubled each time that it still is. */
const FIRST_LEAVE_MS = 20
const LONGEST_LEAVE_MS = 10_000
/** Time limit of a claim, in milliseconds, and how long to leave a session whose claim exceeded it. */
const CLAIM_MS = 1_000
const SLOW_LEAVE_MS = 250

/** A claim has a transaction of its own. */
const CLAIM = { limitMs: CLAIM_MS, patient: true, first: true } as const

/** How long a renewal waits for the record, in milliseconds; its caller tries again. */
const RENEWAL_MS = 2_000

type Candidate = Pick<SessionDocument, '_id' | 'workspace' | 'sessionId'>
const CANDIDATE = { workspace: 1, sessionId: 1 } as const

/** Until when to leave a session, in monotonic time, and for how long in all. */
interface Left {
  readonly until: number
  readonly ms: number
}

/**
 * Grants leases. A record that an open transaction has written cannot be claimed, and such a transaction may belong to
 * a process that is gone. So candidates are claimed one by one, each in a transaction: there, the server refuses a
 * locked record at once, while another write would wait for it.
 */
export class MongoLeases {
  readonly #mongo: Mongo
  readonly #sessions: Collections['sessions']
  readonly #queue: MongoQueue
  /** Sessions that were locked when they were last tried. */
  readonly #locked = new Map<string, Left>()

  constructor({ mongo, collections, queue }: Pick<StoreParts, 'mongo' | 'collections' | 'queue'>) {
    this.#mongo = mongo
    this.#sessions = collections.sessions
    this.#queue = queue
  }

  /** Grants the lease that has been available longest, by the server's clock; among those that are not locked. */
  async claim(owner: string, durationMs: number, except: readonly string[]): Promise<AcquiredLease | undefined> {
    const until = systemClock.monotonic() + PATIENCE_MS
    for (;;) {
      const { lease, again } = await this.#pass(owner, durationMs, except)
      if (lease !== undefined || again >= until) return lease
      // A timer may fire up to a millisecond early, when the session is still left.
      await delay(Math.max(0, again - systemClock.monotonic()) + 1)
    }
  }

  /**
   * Extends a lease; undefined when it is lost. This is a write of its own, which waits for the transaction that is
   * writing the session, but for none that comes later.
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
   * Whether a lease is held. Writes its session in the transaction, so that the server lets nobody else acquire the
   * lease, or remove the session, at the same time.
   */
  async keep({ workspace, sessionId, fence }: Lease, session: ClientSession): Promise<boolean> {
    const live = { _id: keyOf(workspace, sessionId), fence, $expr: { $gt: ['$leaseUntil', SERVER_NOW] } }
    const options = { session, maxTimeMS: MAX_TIME_MS }
    return (await this.#sessions.updateOne(live, { $inc: { version: 1 } }, options)).matchedCount > 0
  }

  /** Tries each candidate once. `again`: when the first of those that were locked may be tried again. */
  async #pass(
    owner: string,
    durationMs: number,
    except: readonly string[],
  ): Promise<{ readonly lease?: AcquiredLease | undefined; readonly again: number }> {
    const met = new Set<string>()
    for (;;) {
      const candidates = await this.#candidates(met, except)
      for (const candidate of candidates) {
        const lease = await this.#claimOne(candidate, owner, durationMs)
        if (lease !== undefined) return { lease, again: 0 }
        met.add(candidate._id)
      }
      // The remaining ones are locked, or were claimed by others.
      if (candidates.length < CANDIDATES) break
    }
    let again = Number.POSITIVE_INFINITY
    for (const key of met) again = Math.min(again, this.#locked.get(key)?.until ?? again)
    return { again }
  }

  async #candidates(met: ReadonlySet<string>, except: readonly string[]): Promise<Candidate[]> {
    const now = systemClock.monotonic()
    const left: string[] = []
    for (const [key, { until, ms }] of this.#locked) {
      if (until > now) left.push(key)
      // It has not been a candidate for a long time.
      else if (until + ms + LONGEST_LEAVE_MS < now) this.#locked.delete(key)
    }
    const options = { sort: { claimableAt: 1 }, limit: CANDIDATES, maxTimeMS: MAX_TIME_MS } as const
    const others = { _id: { $nin: [...left, ...met] }, workspace: { $nin: [...except] } }
    const cursor = this.#sessions.find<Candidate>({ ...CLAIMABLE, ...others }, { ...options, projection: CANDIDATE })
    return cursor.toArray()
  }

  async #claimOne(
    { _id, workspace, sessionId }: Candidate,
    owner: string,
    durationMs: number,
  ): Promise<AcquiredLease | undefined> {
    const until = { $add: [SERVER_NOW, durationMs] }
    const changes = {
      fence: { $add: ['$fence', 1] },
      acquisitions: { $add: ['$acquisitions', 1] },
      version: { $add: ['$version', 1] },
      leaseOwner: { $literal: owner },
      leaseUntil: until,
      claimableAt: until,
    }
    const options = {
      returnDocument: 'before',
      projection: { fence: 1, acquisitions: 1, running: 1, leaseUntil: 1 },
      maxTimeMS: CLAIM_MS,
    } as const
    try {
      const claim = (session: ClientSession) =>
        this.#sessions
          .findOneAndUpdate({ _id, ...CLAIMABLE }, [{ $set: changes }], { ...options, session })
          // Not to be retried at once.
          .catch((error: unknown) => Promise.reject(isLocked(error) ? new Refused(isSlow(error)) : error))
      // As long as this process writes the session, its writes would lock the claim out.
      const record = this.#queue.isBusy(workspace, sessionId)
        ? await this.#queue.run(workspace, sessionId, CLAIM, (batch) => claim(batch.session))
        : await this.#mongo.transact(claim)
      this.#locked.delete(_id)
      if (record === null) return undefined
      const { fence, acquisitions, running, leaseUntil: heldUntil } = record
      const unfinished = running === 1
      return { workspace, sessionId, fence: fence + 1, unfinished, acquisitions: acquisitions + 1, heldUntil }
    } catch (thrown) {
      const isLate = isStoreUnavailable(thrown) || thrown instanceof OutOfTime
      const error = isLate ? new Refused(true) : thrown
      if (!(error instanceof Refused)) throw error
      const former = this.#locked.get(_id)?.ms ?? FIRST_LEAVE_MS / 2
      const ms = error.slow ? SLOW_LEAVE_MS : Math.min(former * 2, LONGEST_LEAVE_MS)
      this.#locked.set(_id, { until: systemClock.monotonic() + ms, ms })
      if (!error.slow) void this.#endDeadTransactions()
      return undefined
    }
  }

  async #endDeadTransactions(): Promise<void> {
    // What they locked is available now.
    if (await this.#mongo.endDeadTransactions()) this.#locked.clear()
  }
}

/** Somebody else is writing the record, or the server was too slow. */
class Refused extends Error {
  readonly slow: boolean

  constructor(slow: boolean) {
    super()
    this.slow = slow
  }
}

const CLAIMABLE = { claimableAt: { $gt: 0 }, $expr: { $lte: ['$claimableAt', SERVER_NOW] } }
