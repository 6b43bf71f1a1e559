import type { Collection } from 'mongodb'
import type { Clock } from '#shared/clock.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'

/** A process that writes the ledger, and until when it counts as alive, by the server's clock. */
export interface LeaseDocument {
  readonly _id: string
  readonly expiresAt: Date
}

/** A process that did not say for so long that it lives is taken for dead. */
const LEASE_MS = 9_000
/** What is written down of a dead process is not needed for longer. */
const FORGET_MS = 3_600_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Which of the processes are dead: those that have left, and, where `judgesLeases` says so, those whose lease has run out. */
export async function deadAmong(
  leases: Collection<LeaseDocument>,
  processes: readonly string[],
  judgesLeases: boolean,
): Promise<string[]> {
  if (processes.length === 0) return []
  const valid = judgesLeases ? { $expr: { $gt: ['$expiresAt', '$$NOW'] } } : {}
  const lives = { _id: { $in: processes }, ...valid }
  const alive = new Set((await leases.find(lives, LIMIT).toArray()).map(({ _id }) => _id))
  return processes.filter((process) => !alive.has(process))
}

/** The lease of this process. */
export class OwnLease {
  readonly process: string
  readonly #leases: Collection<LeaseDocument>
  readonly #clock: Clock
  /** Of the monotonic clock, as the next one. */
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

  /** Whether nobody can have taken this process for dead since it was renewed last. */
  get lasts(): boolean {
    return this.#clock.monotonic() < this.#lastsUntil
  }

  /**
   * Says that this process lives. Returns whether it may judge whose lease has run out: not for nine seconds after its start, or after its
   * own lease has run out, since the store was away, or this process stood still, and the others may have had no chance to renew theirs.
   */
  async renew(): Promise<boolean> {
    const expiresAt = { $add: ['$$NOW', LEASE_MS] }
    const lastsUntil = this.#clock.monotonic() + LEASE_MS
    await this.#leases.updateOne({ _id: this.process }, [{ $set: { expiresAt } }], { upsert: true, ...LIMIT })
    const now = this.#clock.monotonic()
    if (now - this.#renewed > LEASE_MS) this.#judgesFrom = now + LEASE_MS
    this.#renewed = now
    this.#lastsUntil = lastsUntil
    return now >= this.#judgesFrom
  }

  /** Ends it: this process leaves. Forgets those of processes that are long dead. */
  async end(): Promise<void> {
    const forgotten = { $expr: { $lt: ['$expiresAt', { $subtract: ['$$NOW', FORGET_MS] }] } }
    await this.#leases.deleteMany({ $or: [{ _id: this.process }, forgotten] }, LIMIT)
  }
}
