import type { ClientSession } from 'mongodb'
import { systemClock } from '#shared/clock.ts'
import { KeyedQueue } from '#shared/keyed-queue.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { OutOfTime } from '#shared/stores/mongo-transactions.ts'
import { takePositions } from './audit-entries.ts'
import type { Collections } from './documents.ts'

export interface OrganizationChange {
  readonly organizationId: string
  readonly session: ClientSession
  /** Position of its entry in the audit log. */
  readonly position: number
}

/** Runs changes of organizations, each in a transaction. */
export class OrganizationChanges {
  readonly #mongo: Mongo
  readonly #collections: Collections
  readonly #queue = new KeyedQueue()

  constructor(mongo: Mongo, collections: Collections) {
    this.#mongo = mongo
    this.#collections = collections
  }

  /**
   * Runs a change, in order with all other changes in its organization: those of this process wait for their turn, and
   * those of other processes conflict on its lock and are repeated. `work` may run several times. A change that has
   * nothing to log leaves a gap in the positions. Throws OutOfTime if its turn does not come in time.
   */
  run<R>(organizationId: string, work: (change: OrganizationChange) => Promise<R>): Promise<R> {
    const until = systemClock.monotonic() + this.#mongo.limitMs
    return this.#queue.run(organizationId, () => {
      const limitMs = until - systemClock.monotonic()
      if (limitMs <= 0) throw new OutOfTime('earlier changes took all of its time')
      return this.#mongo.transact(async (session) => {
        const position = await this.#begin(session, organizationId)
        return work({ organizationId, session, position })
      }, limitMs)
    })
  }

  /**
   * Takes the lock, first of all in a transaction. The position is taken outside of the transaction, since exchanges
   * use the same counter: they wait neither for a change nor for one whose process was killed.
   */
  async #begin(session: ClientSession, organizationId: string): Promise<number> {
    const { changeLocks } = this.#collections
    const options = { session, maxTimeMS: MAX_TIME_MS }
    await changeLocks.updateOne({ _id: organizationId }, { $inc: { changes: 1 } }, options)
    return takePositions(this.#collections, organizationId, 1)
  }
}
