import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'

/** Why a MongoDB suite is skipped, for `{ skip: skipWithoutMongo }`; false when there is a server. */
export const skipWithoutMongo: string | false = mongoUri() === undefined ? 'no MongoDB server' : false

/** The server of this test run, or undefined when there is none. */
export function mongoUri(): string | undefined {
  return process.env.PORTICO_TEST_MONGODB_URI || undefined
}

/** A database of the caller's own, who drops it after filling it. */
export function freshDatabaseName(): string {
  return `portico_test_${randomBytes(8).toString('hex')}`
}

/** Empties a database; its collections and their indexes, which take a while to create, stay. */
export async function emptyDatabase({ db }: Pick<Mongo, 'db'>): Promise<void> {
  const collections = await db.collections()
  const all = collections.filter(({ collectionName }) => !/^(store_versions$|system\.)/.test(collectionName))
  await Promise.all(all.map((collection) => collection.deleteMany({})))
}

/**
 * A database for all cases of a file, which is dropped after them; each call returns it empty. Cases do not dispose
 * it.
 */
export function sharedDatabase(): () => Promise<Mongo> {
  let opened: Mongo | undefined
  after(async () => {
    await opened?.db.dropDatabase()
    await opened?.[Symbol.asyncDispose]()
  })
  return async () => {
    opened ??= await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
    await emptyDatabase(opened)
    return opened
  }
}

/** Drops a database that was filled by a product that has ended. */
export async function dropDatabase(database: string): Promise<void> {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
  await mongo.db.dropDatabase()
}
