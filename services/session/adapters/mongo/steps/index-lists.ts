import type { Document } from 'mongodb'
import { withGrams } from '#services/session/adapters/common/grams.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { updateEach } from './update-each.ts'

interface Titled extends Document {
  readonly _id: string
  readonly titleSearch: string
}

/** Adds an index for the filter by subpath, and one of the grams of titles for searches. */
export async function indexLists(store: MongoStepStore): Promise<void> {
  const sessions = store.db.collection<Titled>('sessions')
  await sessions.createIndexes([
    { name: 'sessionsBySubpath', key: { workspace: 1, projectId: 1, subpath: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsByGram', key: { workspace: 1, grams: 1 } },
  ])
  const old = sessions.find({ titleSearch: { $type: 'string' }, grams: { $exists: false } } as Document)
  await updateEach(store, sessions, old.project<Titled>({ titleSearch: 1 }), ({ _id, titleSearch }) => {
    return { filter: { _id }, $set: withGrams({ titleSearch }) }
  })
}
