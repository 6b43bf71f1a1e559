import { randomBytes } from 'node:crypto'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'

/** Why a MongoDB suite is skipped, for `{ skip: skipWithoutMongo }`; false when there is a server. */
export const skipWithoutMongo: string | false = mongoUri() === undefined ? 'no MongoDB server' : false

/** The server of this test run, or undefined when there is none. */
export function mongoUri(): string | undefined {
  return process.env.PORTICO_TEST_MONGODB_URI || undefined
}

/** A database that nobody else uses. Whoever fills it drops it. */
export function freshDatabaseName(): string {
  return `portico_test_${randomBytes(8).toString('hex')}`
}

/** Empties what a database has; its collections and their indexes, which take a while to make, stay. */
export async function emptyDatabase({ db }: Pick<Mongo, 'db'>): Promise<void> {
  const collections = await db.collections()
  const all = collections.filter(({ collectionName }) => collectionName !== 'store_versions')
  await Promise.all(all.map((collection) => collection.deleteMany({})))
}

/** Drops a database that a product has filled which is gone by now. */
export async function dropDatabase(database: string): Promise<void> {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
  await mongo.db.dropDatabase()
}
