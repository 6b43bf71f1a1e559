import { collectionsOf, keyOf, type SessionDocument } from '#services/session/adapters/mongo/collections.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { someSessions } from './sessions.ts'

const TOGETHER = 2_000

/** A MongoDB store with this many sessions, whose database is removed with it. */
export async function filledMongo(uri: string, count: number): Promise<SessionStore> {
  const mongo = await openMongo({ uri, database: `bench_lists_${process.pid}_${count}` })
  const store = await openMongoSessionStore({ mongo, clock: systemClock })
  const { sessions } = collectionsOf(mongo.db)
  let documents: SessionDocument[] = []
  const write = async (): Promise<void> => {
    if (documents.length > 0) await sessions.insertMany(documents, { ordered: false, writeConcern: { w: 1 } })
    documents = []
  }
  for (const session of someSessions(count)) {
    const _id = keyOf(session.workspace, session.sessionId)
    documents.push({ _id, version: 1, base: 0, notice: null, ...session })
    if (documents.length === TOGETHER) await write()
  }
  await write()
  const closeStore = store[Symbol.asyncDispose].bind(store)
  return Object.assign(store, {
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await closeStore()
      await mongo.db.dropDatabase()
      await mongo[Symbol.asyncDispose]()
    },
  })
}
