import type { Collection } from 'mongodb'
import {
  type Ledger,
  type LedgerClosing,
  type LedgerEntry,
  type LedgerOpening,
  PROCESS_LOST,
} from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { fromRow, type Row, toRow, toStoredUsage } from './row.ts'
import { RowOpener } from './row-opener.ts'
import { SCHEMA } from './schema.ts'

/** The ledger in MongoDB, where several processes may write it. */
export class MongoLedger implements Ledger {
  readonly #mongo: Mongo
  readonly #rows: Collection<Row>
  readonly #opener: RowOpener
  readonly #clock: Clock

  private constructor(mongo: Mongo, clock: Clock) {
    this.#mongo = mongo
    this.#rows = mongo.db.collection<Row>('inference_ledger')
    this.#opener = new RowOpener(this.#rows)
    this.#clock = clock
  }

  /** Makes the form where there is none, and settles the rows that are older than `longestMs`. Leaves the connection open. */
  static async open(mongo: Mongo, clock: Clock, longestMs: number): Promise<MongoLedger> {
    await prepareMongoSchema(mongo, SCHEMA)
    const ledger = new MongoLedger(mongo, clock)
    await ledger.settle(clock.now() - longestMs)
    return ledger
  }

  probe(): Promise<void> {
    return this.#mongo.probe('inference')
  }

  open(opening: LedgerOpening): Promise<void> {
    return this.#opener.open(toRow(opening, this.#clock.now()))
  }

  async close(closings: readonly LedgerClosing[]): Promise<void> {
    const finishedAt = new Date(this.#clock.now())
    const updates = closings.map(({ workspace, requestId, usage, ...rest }) => ({
      updateOne: {
        filter: { _id: { workspace, requestId }, status: 'open' as const },
        update: { $set: { ...rest, usage: toStoredUsage(usage), finishedAt } },
      },
    }))
    await this.#rows.bulkWrite(updates, { ordered: false, maxTimeMS: MAX_TIME_MS })
  }

  async settle(openedBefore: number): Promise<void> {
    await this.#rows.updateMany(
      { status: 'open', startedAt: { $lt: new Date(openedBefore) } },
      { $set: { status: 'aborted', error: PROCESS_LOST, finishedAt: new Date(this.#clock.now()) } },
      { maxTimeMS: MAX_TIME_MS },
    )
  }

  async get(workspace: string, requestId: string): Promise<LedgerEntry | undefined> {
    const options = { maxTimeMS: MAX_TIME_MS, promoteLongs: false }
    const row = await this.#rows.findOne({ _id: { workspace, requestId } }, options)
    return row === null ? undefined : fromRow(row)
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
