import type { Collection } from 'mongodb'
import type { Clock } from '#shared/clock.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import type { leases } from '../tables/ledger.ts'

export type LeaseDocument = MongoDocument<typeof leases>

/** A process that has not renewed its lease for this long counts as dead. */
const LEASE_MS = 9_000
/** Leases of dead processes are not needed for longer. */
const FORGET_MS = 3_600_000
/** In milliseconds since the epoch. */
const NOW = { $toLong: '$$NOW' }
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** The dead ones among the processes: those that have left and, if `judgesLeases`, those whose lease has expired. */
export async function deadAmong(
  leases: Collection<LeaseDocument>,
  processes: readonly string[],
  judgesLeases: boolean,
): Promise<string[]> {
  if (processes.length === 0) return []
  const valid = judgesLeases ? { $expr: { $gt: ['$expireTime', NOW] } } : {}
  const lives = { _id: { $in: processes }, ...valid }
  const alive = new Set((await leases.find(lives, LIMIT).toArray()).map(({ _id }) => _id))
  return processes.filter((process) => !alive.has(process))
}

export class OwnLease {
  readonly process: string
  readonly #leases: Collection<LeaseDocument>
  readonly #clock: Clock
  /** On the monotonic clock, like the next one. */
  #renewed: number
  #judgesFrom: number
  #lastsUntil = 0

  constructor(leases: Collection<LeaseDocument>, process: string, clock: Clock) {
    this.process = process
    this.#leases = leases
    this.#clock = clock
    this.#renewed = clock.monotonic()
    this.#judgesFrom = this.#renewed + LEASE_MS
  }

  /** Whether nobody can have taken this process for dead since its lease was last renewed. */
  get lasts(): boolean {
    return this.#clock.monotonic() < this.#lastsUntil
  }

  /**
   * Renews the lease. Returns whether this process may judge the leases of others: not within nine seconds after its
   * start, or after its own lease has expired because the store was unavailable or the process was stopped, since the
   * others may have been unable to renew theirs.
   */
  async renew(): Promise<boolean> {
    const expireTime = { $add: [NOW, LEASE_MS] }
    const lastsUntil = this.#clock.monotonic() + LEASE_MS
    await this.#leases.updateOne({ _id: this.process }, [{ $set: { expireTime } }], { upsert: true, ...LIMIT })
    const now = this.#clock.monotonic()
    if (now - this.#renewed > LEASE_MS) this.#judgesFrom = now + LEASE_MS
    this.#renewed = now
    this.#lastsUntil = lastsUntil
    return now >= this.#judgesFrom
  }

  /** Ends the lease: this process leaves. Also removes the leases of processes that died long ago. */
  async end(): Promise<void> {
    const forgotten = { $expr: { $lt: ['$expireTime', { $subtract: [NOW, FORGET_MS] }] } }
    await this.#leases.deleteMany({ $or: [{ _id: this.process }, forgotten] }, LIMIT)
  }
}
