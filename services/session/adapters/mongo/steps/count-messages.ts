import type { Db } from 'mongodb'
import { type ActivityRecord, activityOfStored } from '#services/session/adapters/common/activity-record.ts'
import type { MessageRecord, PartRecord } from '#services/session/adapters/common/message-record.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { keyOf } from '../collections.ts'

const BATCH = 200

interface Keyed {
  readonly _id: string
}

/** Existing messages get documents for statistics, except those that a fork has copied. */
export async function countMessages({ db, commit }: MongoStepStore): Promise<void> {
  await db.collection('activity').createIndexes([
    { name: 'activityByTime', key: { workspace: 1, timeCreated: 1, id: 1 } },
    { name: 'activityBySession', key: { workspace: 1, sessionId: 1 } },
  ])
  const activity = db.collection<Keyed>('activity')
  const commitBatch = async (messages: readonly MessageRecord[]): Promise<void> => {
    const operations = (await recordsOf(db, messages)).map((record) => {
      const filter = { _id: keyOf(record.workspace, record.id) }
      return { updateOne: { filter, update: { $setOnInsert: record }, upsert: true } }
    })
    if (operations.length === 0) return
    await commit(async (session) => {
      await activity.bulkWrite(operations, { session, maxTimeMS: MAX_TIME_MS })
    })
  }
  let batch: (Keyed & MessageRecord)[] = []
  const messages = db.collection<Keyed & MessageRecord>('messages')
  for await (const message of messages.find({ type: { $in: ['user', 'assistant'] } })) {
    batch.push(message)
    if (batch.length < BATCH) continue
    await commitBatch(batch)
    batch = []
  }
  if (batch.length > 0) await commitBatch(batch)
}

async function recordsOf(db: Db, messages: readonly MessageRecord[]): Promise<ActivityRecord[]> {
  const sessionKeys = [...new Set(messages.map(({ workspace, sessionId }) => keyOf(workspace, sessionId)))]
  const sessions = db.collection<Keyed & { readonly timeCreated: number }>('sessions')
  const begun = new Map<string, number>()
  for await (const { _id, timeCreated } of sessions.find({ _id: { $in: sessionKeys } })) begun.set(_id, timeCreated)
  const steps = messages.filter(({ type }) => type === 'assistant')
  const parts = new Map<string, PartRecord[]>()
  for (const workspace of new Set(steps.map((step) => step.workspace))) {
    const own = steps.filter((step) => step.workspace === workspace).map(({ id }) => id)
    const sort = { workspace: 1, message: 1, attempt: 1, ordinal: 1 } as const
    for await (const part of db.collection<PartRecord>('parts').find({ workspace, message: { $in: own } }, { sort })) {
      const key = keyOf(workspace, part.message)
      parts.set(key, [...(parts.get(key) ?? []), part])
    }
  }
  return messages.flatMap((message) => {
    const { workspace, sessionId, id } = message
    const since = begun.get(keyOf(workspace, sessionId))
    const record = activityOfStored(message, parts.get(keyOf(workspace, id)) ?? [])
    return record === undefined || since === undefined || message.timeCreated < since ? [] : [record]
  })
}
