import type { Document } from 'mongodb'
import { foldCase } from '#services/session/adapters/common/fold-case.ts'
import { withGrams } from '#services/session/adapters/common/grams.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { updateEach } from './update-each.ts'

interface Titled extends Document {
  readonly _id: string
  readonly title: string
  readonly titleSearch: string
}

/** Titles were only compared in lower case. ASCII has no other case. */
export async function foldTitles(store: MongoStepStore): Promise<void> {
  const sessions = store.db.collection<Titled>('sessions')
  const titled = sessions.find({ title: /[^\0-\x7f]/ } as Document).project<Titled>({ title: 1, titleSearch: 1 })
  await updateEach(store, sessions, titled, ({ _id, title, titleSearch }) => {
    const folded = foldCase(title)
    return folded === titleSearch ? undefined : { filter: { _id, title }, $set: withGrams({ titleSearch: folded }) }
  })
}
