import { setTimeout as delay } from 'node:timers/promises'
import { type ClientSession, type Collection, type Db, MongoServerError } from 'mongodb'
import { randomText } from '#shared/ids.ts'
import { MAX_TIME_MS, type Mongo } from './mongo.ts'
import { isLocked } from './mongo-transactions.ts'
import { lineOf, type ReportStep, refuseNewer, requireLatest, type SchemaStep, type StorePlace } from './schema-step.ts'

/** What a step works on. */
export interface MongoStepStore {
  /** To read, and to make and drop indexes. A process that was paused may do so late, when that must harm nothing. */
  readonly db: Db
  /**
   * Writes documents, in one transaction that is committed only while this process holds the lease of the steps: a step whose
   * process was paused changes nothing after another one has finished it. `write` may run several times. Throws LeaseLost.
   */
  readonly commit: (write: (session: ClientSession) => Promise<void>) => Promise<void>
}

/** A step of a service's collections. It changes documents by `commit` only, and only what still has the old form. */
export type MongoStep = SchemaStep<MongoStepStore, Promise<void>>

/** Another process runs the steps, or has run them. */
class LeaseLost extends Error {}

/** A service's data in MongoDB and the steps that lead to its form. */
export interface MongoSchema {
  /** The service. */
  readonly name: string
  /** A collection that has been there since the first version. */
  readonly collection: string
  readonly steps: readonly MongoStep[]
}

/** Which steps the data of a service has behind it, and who runs the next ones. */
interface VersionDocument {
  /** The service. */
  readonly _id: string
  readonly version: number
  /** Nothing has been stored yet: whoever needs the data makes its form, or goes on with that. */
  readonly making?: boolean
  readonly holder: string | null
  /** By the server's clock: until then nobody else runs steps. */
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
 * Makes the form of a service's data where it has none yet, and throws unless it has that form (`requireLatest`). Several
 * processes may do so at once.
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
 * Brings the data of a service, where there is any, to the latest version. Of several processes one runs the steps and the
 * others wait; when it is killed another goes on after 15 s. Throws ConfigError when a newer program wrote the data.
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
      // Whoever has lost the lease leaves the version to the one who has it.
      const isLast = reached === schema.steps.at(-1)?.version
      const made = isLast ? { $unset: { making: true as const } } : {}
      await versions(db).updateOne(held, { $set: { version: reached, holder: null }, ...made }, LIMIT)
    }
  }
}

/** The write of the lease meets whoever takes it over meanwhile: only one of the two transactions can be committed. */
function commit(mongo: Mongo, held: Held, write: (session: ClientSession) => Promise<void>): Promise<void> {
  return mongo.transact(async (session) => {
    if (!(await hold(mongo.db, held, session))) throw new LeaseLost()
    await write(session)
  })
}

/** Writes down the version of data that has none yet. */
async function number(db: Db, name: string, version: number): Promise<void> {
  try {
    await versions(db).updateOne(
      { _id: name },
      { $setOnInsert: { version, making: version === 0, holder: null, heldUntil: new Date(0) } },
      { upsert: true, ...LIMIT },
    )
  } catch (error) {
    // Another process has.
    if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) throw error
  }
}

/** Takes the lease for the next step. Returns whether it was given. */
async function acquire(mongo: Mongo, held: Held): Promise<boolean> {
  try {
    return await hold(mongo.db, held)
  } catch (error) {
    if (!isLocked(error)) throw error
    // A process was paused, or killed, in the middle of a transaction.
    await mongo.endDeadTransactions()
    return false
  }
}

/** Takes or renews the lease for the next step. Returns whether it was given. */
async function hold(db: Db, { holder, ...of }: Held, session?: ClientSession): Promise<boolean> {
  const free = { $or: [{ holder: { $in: [holder, null] } }, { $expr: { $lt: ['$heldUntil', '$$NOW'] } }] }
  const held = { holder, heldUntil: { $add: ['$$NOW', LEASE_MS] } }
  const { matchedCount } = await versions(db).updateOne({ ...of, ...free }, [{ $set: held }], {
    ...LIMIT,
    ...(session && { session }),
  })
  return matchedCount > 0
}

/** Data of the time before versions has the first form, without a number; what nobody finished making is empty. */
async function versionOf(db: Db, { name, collection }: MongoSchema): Promise<{ version: number; isMade: boolean }> {
  const found = await versions(db).findOne({ _id: name }, LIMIT)
  if (found !== null) return { version: found.version, isMade: found.version > 0 && found.making !== true }
  const collections = await db.listCollections({ name: collection }, { nameOnly: true, ...LIMIT }).toArray()
  return collections.length === 0 ? { version: 0, isMade: false } : { version: 1, isMade: true }
}

function versions(db: Db): Collection<VersionDocument> {
  return db.collection('store_versions')
}

function placeOf(db: Db, { name }: MongoSchema): StorePlace {
  return { name: `The data of ${name} in the database ${db.databaseName}`, setting: 'PORTICO_MONGODB_DATABASE' }
}
