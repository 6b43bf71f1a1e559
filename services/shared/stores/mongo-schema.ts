import { setTimeout as delay } from 'node:timers/promises'
import { type ClientSession, type Collection, type Db, type IndexDescription, MongoServerError } from 'mongodb'
import { randomText } from '#shared/ids.ts'
import { MAX_TIME_MS, type Mongo } from './mongo.ts'
import { isLocked } from './mongo-transactions.ts'
import {
  latestForm,
  lineOf,
  type ReportStep,
  refuseForeign,
  requireLatest,
  type SchemaStep,
  type StoreForm,
  type StorePlace,
} from './schema-step.ts'

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

/** A service's data in MongoDB. */
export interface MongoSchema {
  /** The service. */
  readonly name: string
  /** The collections that have indexes, as they are now. */
  readonly indexes: Readonly<Record<string, readonly IndexDescription[]>>
  readonly digest: number
  readonly steps: readonly MongoStep[]
}

/** The form of a service's data, and who runs the next steps. Written before any collection. */
interface VersionDocument extends StoreForm {
  /** The service. */
  readonly _id: string
  /** The indexes are not complete, so nothing has been stored yet: a service that needs the data creates the rest. */
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
 * Creates the indexes of a service's data if there is none, and throws unless the data has the latest form
 * (`requireLatest`). Several processes may do so at once.
 */
export async function prepareMongoSchema({ db }: Mongo, schema: MongoSchema): Promise<void> {
  const { name: _id, indexes } = schema
  const latest = latestForm(schema)
  const stored = await formOf(db, schema)
  if (stored !== undefined) return requireLatest(placeOf(db, schema), stored, latest)
  await begin(db, { _id, ...latest, making: true, holder: null, heldUntil: new Date(0) })
  for (const [name, descriptions] of Object.entries(indexes)) {
    await db.collection(name).createIndexes([...descriptions], LIMIT)
  }
  await versions(db).updateOne({ _id, ...latest }, { $unset: { making: true } }, LIMIT)
}

/** Whether the service has stored anything in that database. */
export async function isMongoStored({ db }: Mongo, schema: MongoSchema): Promise<boolean> {
  return (await formOf(db, schema)) !== undefined
}

/**
 * Migrates the data of a service, if there is any, to the latest version. Of several processes, one runs the steps
 * while the others wait; if it is killed, another one continues after 15 s. Throws a ConfigError if a newer program
 * wrote the data.
 */
export async function migrateMongo(mongo: Mongo, schema: MongoSchema, report: ReportStep): Promise<void> {
  const { db } = mongo
  const place = placeOf(db, schema)
  const holder = randomText(16)
  for (;;) {
    const stored = await formOf(db, schema)
    if (stored === undefined) return
    refuseForeign(place, stored, latestForm(schema))
    const { version } = stored
    const next = schema.steps.find((step) => step.version > version)
    if (next === undefined) return
    const held = { _id: schema.name, version, holder }
    if (!(await acquire(mongo, held))) {
      await delay(AGAIN_MS)
      continue
    }
    report(lineOf(place, next))
    const renewing = setInterval(() => void hold(db, held).catch(() => {}), RENEW_MS)
    let reached: Partial<StoreForm> = {}
    try {
      await next.up({ db, commit: (write) => commit(mongo, held, write) })
      reached = { version: next.version, digest: schema.digest }
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
    } finally {
      clearInterval(renewing)
      // A process that has lost the lease leaves the version to the new holder.
      await versions(db).updateOne(held, { $set: { ...reached, holder: null } }, LIMIT)
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

/** Records the form of data that is empty. */
async function begin(db: Db, { _id, making, ...form }: VersionDocument): Promise<void> {
  try {
    await versions(db).updateOne({ _id, making }, { $set: form }, { upsert: true, ...LIMIT })
  } catch (error) {
    // Another process has completed it.
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
    session,
  })
  return matchedCount > 0
}

/**
 * Undefined: nothing has been stored yet, nor has the schema been completed. Data without a record of its form is of
 * another program.
 */
async function formOf(db: Db, { name, indexes }: MongoSchema): Promise<StoreForm | undefined> {
  // In this order, since another process may begin meanwhile.
  const collections = { name: { $in: Object.keys(indexes) } }
  const hasData = await db.listCollections(collections, { nameOnly: true, ...LIMIT }).hasNext()
  const stored = await versions(db).findOne({ _id: name }, LIMIT)
  if (stored?.making === true || (stored === null && !hasData)) return undefined
  return { version: stored?.version ?? 0, digest: stored?.digest ?? 0 }
}

function versions(db: Db): Collection<VersionDocument> {
  return db.collection('store_versions')
}

function placeOf(db: Db, { name }: MongoSchema): StorePlace {
  return { name: `The data of ${name} in the database ${db.databaseName}`, setting: 'PORTICO_MONGODB_DATABASE' }
}
