import type { Document } from 'mongodb'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { BY_TITLE_PLACE, type TitleTurn, waitingPlace } from '../titles/title-blocks.ts'
import { dropIndex } from './order-searches.ts'
import { updateEach } from './update-each.ts'

interface Indexed extends Document {
  readonly _id: string
  readonly timeUpdated: number
}

/** Replaces the index of grams: sessions wait for the index of titles in blocks (`titles/title-index.ts`). */
export async function placeTitles(store: MongoStepStore): Promise<void> {
  const { db, commit } = store
  await dropIndex(db, 'sessionsByGramAndHour')
  const sessions = db.collection<Indexed>('sessions')
  const old = sessions.find({ hour: { $exists: true } } as Document).project<Indexed>({ timeUpdated: 1 })
  await updateEach(store, sessions, old, ({ _id, timeUpdated }) => {
    const $set = { titlePlace: waitingPlace(timeUpdated) }
    return { filter: { _id, timeUpdated }, $set, $unset: { grams: 1, hour: 1 } }
  })
  await sessions.createIndex({ workspace: 1, titlePlace: 1 }, { name: BY_TITLE_PLACE })
  await db.collection('titleBlocks').createIndex({ workspace: 1 }, { name: 'titleBlocksByWorkspace' })
  await commit(async (session) => {
    const first = { $setOnInsert: { last: 0, until: 0 } }
    await db.collection<TitleTurn>('titleTurns').updateOne({ _id: 'blocks' }, first, { upsert: true, session })
  })
}
