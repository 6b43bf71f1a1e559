import { setTimeout as delay } from 'node:timers/promises'
import { type ClientSession, type Collection, type Db, MongoServerError } from 'mongodb'
import { randomText } from '#shared/ids.ts'
import { MAX_TIME_MS, type Mongo } from './mongo.ts'
import { isLocked } from './mongo-transactions.ts'
import { lineOf, type ReportStep, refuseNewer, requireLatest, type SchemaStep, type StorePlace } from './schema-step.ts'

/** What a step changes. */
export interface MongoStepStore {
  /**
   * For reading, and for creating and dropping indexes. A process that was paused may do so late, which must be
   * harmless.
   */
  readonly db: Db
  /**
   * Writes documents in one transaction, which is committed only while this process holds the lease for the steps. So a
   * step of a process that was paused changes nothing after another one has finished it. `write` may run several times.
   * Throws LeaseLost.
   */
  readonly commit: (write: (session: ClientSession) => Promise<void>) => Promise<void>
}

/**
 * A step that changes a service's collections. It changes documents only by `commit`, and only those that still have
 * the old form.
 */
export type MongoStep = SchemaStep<MongoStepStore, Promise<void>>

/** Another process runs the steps, or has run them. */
class LeaseLost extends Error {}

/** A service's data in MongoDB, and the steps that lead to its schema. */
export interface MongoSchema {
  /** The service. */
  readonly name: string
  /** A collection that has existed since the first version. */
  readonly collection: string
  readonly steps: readonly MongoStep[]
}

/** The version of a service's data, and who runs the next steps. */
interface VersionDocument {
  /** The service. */
  readonly _id: string
  readonly version: number
  /** Nothing has been stored yet: a service that needs the data creates the schema, or continues with that. */
  readonly making?: boolean
  readonly holder: string | null
  /** By the server's clock; until then nobody else runs steps. */
  readonly heldUntil: Date
}

/** A lease, and the version of the data that its holder found. */
type Held = Pick<VersionDocument, '_id' | 'version' | 'holder'>

const LEASE_MS = 15_000
const RENEW_MS = 3_000
const AGAIN_MS = 250
const DUPLICATE_KEY = 11_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/**
 * Creates the schema of a service's data unless there is one, and throws unless it is the latest (`requireLatest`).
 * Several processes may do so at once.
 */
export async function prepareMongoSchema(mongo: Mongo, schema: MongoSchema): Promise<void> {
  const { version, isMade } = await versionOf(mongo.db, schema)
  if (!isMade) await runSteps(mongo, schema, () => {})
  else requireLatest(placeOf(mongo.db, schema), version, schema.steps)
}

/** Whether the service has stored anything in that database. */
export async function isMongoStored({ db }: Mongo, schema: MongoSchema): Promise<boolean> {
  return (await versionOf(db, schema)).isMade
}

/**
 * Migrates the data of a service, if there is any, to the latest version. Of several processes, one runs the steps
 * while the others wait; if it is killed, another one continues after 15 s. Throws a ConfigError if a newer program
 * wrote the data.
 */
export async function migrateMongo(mongo: Mongo, schema: MongoSchema, report: ReportStep): Promise<void> {
  if (await isMongoStored(mongo, schema)) await runSteps(mongo, schema, report)
}

async function runSteps(mongo: Mongo, schema: MongoSchema, report: ReportStep): Promise<void> {
  const { db } = mongo
  const place = placeOf(db, schema)
  const holder = randomText(16)
  for (;;) {
    const { version: done } = await versionOf(db, schema)
    refuseNewer(place, done, schema.steps)
    const next = schema.steps.find((step) => step.version > done)
    if (next === undefined) return
    await number(db, schema.name, done)
    const held = { _id: schema.name, version: done, holder }
    if (!(await acquire(mongo, held))) {
      await delay(AGAIN_MS)
      continue
    }
    report(lineOf(place, next))
    const renewing = setInterval(() => void hold(db, held).catch(() => {}), RENEW_MS)
    let reached = done
    try {
      await next.up({ db, commit: (write) => commit(mongo, held, write) })
      reached = next.version
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    } finally {
      clearInterval(renewing)
      // Whoever has lost the lease leaves the version to its new holder.
      const isLast = reached === schema.steps.at(-1)?.version
      const made = isLast ? { $unset: { making: true as const } } : {}
      await versions(db).updateOne(held, { $set: { version: reached, holder: null }, ...made }, LIMIT)
    }
  }
}

/**
 * The lease is written in the same transaction, which conflicts with whoever takes it over meanwhile, so that only one
 * of the two can commit.
 */
function commit(mongo: Mongo, held: Held, write: (session: ClientSession) => Promise<void>): Promise<void> {
  return mongo.transact(async (session) => {
    if (!(await hold(mongo.db, held, session))) throw new LeaseLost()
    await write(session)
  })
}

/** Writes the version of data that has none yet. */
async function number(db: Db, name: string, version: number): Promise<void> {
  try {
    await versions(db).updateOne(
      { _id: name },
      { $setOnInsert: { version, making: version === 0, holder: null, heldUntil: new Date(0) } },
      { upsert: true, ...LIMIT },
    )
  } catch (error) {
    // Another process has done it.
    if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) throw error
  }
}

/** Acquires the lease for the next step. Returns whether it was granted. */
async function acquire(mongo: Mongo, held: Held): Promise<boolean> {
  try {
    return await hold(mongo.db, held)
  } catch (error) {
    if (!isLocked(error)) throw error
    // A process was paused, or killed, during a transaction.
    await mongo.endDeadTransactions()
    return false
  }
}

/** Acquires or renews the lease for the next step. Returns whether it was granted. */
async function hold(db: Db, { holder, ...of }: Held, session?: ClientSession): Promise<boolean> {
  const free = { $or: [{ holder: { $in: [holder, null] } }, { $expr: { $lt: ['$heldUntil', '$$NOW'] } }] }
  const held = { holder, heldUntil: { $add: ['$$NOW', LEASE_MS] } }
  const { matchedCount } = await versions(db).updateOne({ ...of, ...free }, [{ $set: held }], {
    ...LIMIT,
    ...(session && { session }),
  })
  return matchedCount > 0
}

/**
 * Data from before versions has the first version, without a number; data that nobody finished creating counts as
 * empty.
 */
async function versionOf(db: Db, { name, collection }: MongoSchema): Promise<{ version: number; isMade: boolean }> {
  const numbered = async () => {
    const found = await versions(db).findOne({ _id: name }, LIMIT)
    return found && { version: found.version, isMade: found.version > 0 && found.making !== true }
  }
  const known = await numbered()
  if (known !== null) return known
  const collections = await db.listCollections({ name: collection }, { nameOnly: true, ...LIMIT }).toArray()
  if (collections.length === 0) return { version: 0, isMade: false }
  // Another process may have begun meanwhile, which numbers the data before it creates a collection.
  return (await numbered()) ?? { version: 1, isMade: true }
}

function versions(db: Db): Collection<VersionDocument> {
  return db.collection('store_versions')
}

function placeOf(db: Db, { name }: MongoSchema): StorePlace {
  return { name: `The data of ${name} in the database ${db.databaseName}`, setting: 'PORTICO_MONGODB_DATABASE' }
}
