import { type Db, type Document, MongoServerError } from 'mongodb'
import { hourOf } from '#services/session/adapters/common/titles/moves-title.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { updateEach } from './update-each.ts'

const INDEX_NOT_FOUND = 27

interface Undated extends Document {
  readonly _id: string
  readonly timeUpdated: number
}

/** Sessions get the hour of their last activity, and the index of grams is in the order of these. */
export async function orderSearches(store: MongoStepStore): Promise<void> {
  const sessions = store.db.collection<Undated>('sessions')
  const old = sessions.find({ hour: { $exists: false } } as Document).project<Undated>({ timeUpdated: 1 })
  await updateEach(store, sessions, old, ({ _id, timeUpdated }) => {
    return { filter: { _id, timeUpdated }, $set: { hour: hourOf(timeUpdated) } }
  })
  await sessions.createIndex({ workspace: 1, grams: 1, hour: 1 }, { name: 'sessionsByGramAndHour' })
  await dropIndex(store.db, 'sessionsByGram')
}

/** Drops an index of sessions. */
export async function dropIndex(db: Db, name: string): Promise<void> {
  try {
    await db.collection('sessions').dropIndex(name)
  } catch (error) {
    // A process that was paused comes late.
    if (!(error instanceof MongoServerError) || error.code !== INDEX_NOT_FOUND) throw error
  }
}
