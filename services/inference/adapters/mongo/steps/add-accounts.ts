import { Long } from 'mongodb'
import { dayOf, monthOf, startOfDay, weekOf } from '#services/inference/domain/ledger/account.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { WORKSPACE } from '../account-document.ts'
import { bigintOf } from '../row.ts'

const BATCH = 200

interface Sum {
  readonly _id: { readonly workspace: string; readonly owner: string }
  readonly total: bigint
  readonly day: bigint
  readonly week: bigint
  readonly month: bigint
  /** Ids of open requests, whose process is gone. */
  readonly open: readonly string[]
}

interface Keyed {
  readonly _id: Sum['_id']
}

/** Creates the account of each key and each workspace from the existing rows; open rows hold nothing. */
export async function addAccounts({ db, commit }: MongoStepStore): Promise<void> {
  const rows = db.collection('inference_ledger')
  const accounts = db.collection<Keyed>('inference_accounts')
  await rows.createIndexes([{ key: { workspace: 1, finishedAt: 1 } }])
  await rows.dropIndex('startedAt_1').catch((error: unknown) => {
    // Already dropped, by a process that was killed or by one that runs beside this one.
    if (!(error instanceof Error && 'codeName' in error && error.codeName === 'IndexNotFound')) throw error
  })
  await accounts.createIndexes([
    { key: { heldRequests: 1 }, partialFilterExpression: { heldRequests: { $gt: 0 } } },
    { key: { workspace: 1, 'holds.ending': 1 } },
  ])
  const day = dayOf(Date.now())
  const since = (start: number) => ({
    $sum: { $cond: [{ $gte: ['$finishedAt', new Date(startOfDay(start))] }, '$costNanos', 0] },
  })
  for (const owner of ['$apiKeyId', { $literal: WORKSPACE }]) {
    const sums = rows.aggregate<Sum>(
      [
        {
          $group: {
            _id: { workspace: '$workspace', owner },
            total: { $sum: '$costNanos' },
            day: since(day),
            week: since(weekOf(day)),
            month: since(monthOf(day)),
            open: { $push: { $cond: [{ $eq: ['$status', 'open'] }, '$_id.requestId', '$$REMOVE'] } },
          },
        },
      ],
      { promoteLongs: false },
    )
    let batch: Sum[] = []
    const write = async (): Promise<void> => {
      const updates = batch.map((sum) => ({
        updateOne: { filter: { _id: sum._id }, update: { $setOnInsert: accountOf(sum, day) }, upsert: true },
      }))
      batch = []
      if (updates.length === 0) return
      await commit(async (session) => {
        await accounts.bulkWrite(updates, { session, maxTimeMS: MAX_TIME_MS })
      })
    }
    for await (const sum of sums) {
      batch.push(sum)
      if (batch.length === BATCH) await write()
    }
    await write()
  }
}

function accountOf({ _id, total, day: today, week, month, open }: Sum, day: number) {
  const long = (value: unknown): Long => Long.fromBigInt(bigintOf(value))
  const name = { process: '', nanos: long(0n), inputTokens: long(0n), minute: 0 }
  return {
    ..._id,
    totalNanos: long(total),
    day,
    dayNanos: long(today),
    weekNanos: long(week),
    monthNanos: long(month),
    minute: 0,
    minuteRequests: 0,
    minuteTokens: long(0n),
    heldNanos: long(0n),
    heldRequests: open.length,
    revision: 1,
    holds: open.map((requestId) => ({ name: requestId, requestId, ...name })),
  }
}
