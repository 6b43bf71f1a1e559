import { type Collection, Long, MongoServerError } from 'mongodb'
import type { Usage } from '#services/inference/domain/generation.ts'
import type { Ledger, LedgerClosing, LedgerEntry, LedgerOpening } from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { SCHEMA } from './schema.ts'

const DUPLICATE_KEY = 11_000

/** Longs, in the order of their names in Usage; null: none reported. */
type StoredUsage = Readonly<Record<keyof Usage, bigint>>

interface Row extends Omit<LedgerEntry, 'workspace' | 'requestId' | 'usage' | 'startedAt' | 'finishedAt'> {
  readonly _id: { readonly workspace: string; readonly requestId: string }
  readonly workspace: string
  readonly usage: StoredUsage | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

/** The ledger in MongoDB, where several processes may write it. */
export class MongoLedger implements Ledger {
  readonly #mongo: Mongo
  readonly #rows: Collection<Row>
  readonly #clock: Clock

  private constructor(mongo: Mongo, clock: Clock) {
    this.#mongo = mongo
    this.#rows = mongo.db.collection<Row>('inference_ledger')
    this.#clock = clock
  }

  /** Makes the form where there is none, and closes the rows that were begun longer ago than a generation may last. Leaves the connection open. */
  static async open(mongo: Mongo, clock: Clock, longestMs: number): Promise<MongoLedger> {
    await prepareMongoSchema(mongo, SCHEMA)
    const ledger = new MongoLedger(mongo, clock)
    const open = { status: 'open' } as const
    const now = clock.now()
    await ledger.#rows.updateMany(
      { ...open, startedAt: { $lt: new Date(now - longestMs) } },
      { $set: { status: 'aborted', finishedAt: new Date(now) } },
    )
    return ledger
  }

  probe(): Promise<void> {
    return this.#mongo.probe('inference')
  }

  async begin(opening: LedgerOpening): Promise<void> {
    const { workspace, requestId, ...rest } = opening
    try {
      const row: Row = {
        _id: { workspace, requestId },
        workspace,
        ...rest,
        status: 'open',
        usage: null,
        costNanos: 0n,
        error: '',
        startedAt: new Date(this.#clock.now()),
        finishedAt: null,
      }
      await this.#rows.insertOne(row, { maxTimeMS: MAX_TIME_MS })
    } catch (error) {
      if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) throw error
      throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId }, { cause: error })
    }
  }

  async finish(workspace: string, requestId: string, closing: LedgerClosing): Promise<void> {
    const { status, usage, costNanos, error } = closing
    await this.#rows.updateOne(
      { _id: { workspace, requestId }, status: 'open' },
      { $set: { status, usage: usage ?? null, costNanos, error, finishedAt: new Date(this.#clock.now()) } },
      { maxTimeMS: MAX_TIME_MS },
    )
  }

  async get(workspace: string, requestId: string): Promise<LedgerEntry | undefined> {
    const row = await this.#rows.findOne(
      { _id: { workspace, requestId } },
      { maxTimeMS: MAX_TIME_MS, promoteLongs: false },
    )
    if (row === null) return undefined
    const { _id, usage, costNanos, startedAt, finishedAt, ...rest } = row
    return {
      ...rest,
      requestId,
      usage: usage === null ? undefined : usageOf(usage),
      costNanos: bigintOf(costNanos),
      startedAt: startedAt.getTime(),
      finishedAt: finishedAt?.getTime(),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function usageOf(usage: StoredUsage): Usage {
  return {
    inputTokens: bigintOf(usage.inputTokens),
    outputTokens: bigintOf(usage.outputTokens),
    cacheReadTokens: bigintOf(usage.cacheReadTokens),
    cacheWriteTokens: bigintOf(usage.cacheWriteTokens),
    reasoningTokens: bigintOf(usage.reasoningTokens),
  }
}

/** The driver writes a bigint as a 64-bit integer, and reads one as a Long. */
function bigintOf(value: unknown): bigint {
  return value instanceof Long ? value.toBigInt() : BigInt(value as number)
}
