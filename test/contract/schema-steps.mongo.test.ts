import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Db } from 'mongodb'
import { storeSchema as identity } from '#services/identity/open.ts'
import { storeSchema as inference } from '#services/inference/open.ts'
import { storeSchema as session } from '#services/session/open.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { migrateMongo, prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { OlderStoreError } from '#shared/stores/schema-step.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { layOutDatabase } from '#test/support/older-stores.ts'
import { scratchDirectory } from '#test/support/processes.ts'

const SCHEMAS = [session, inference, identity].map(({ mongo }) => mongo)
const COLLECTION_WRITES = [
  'bulkWrite',
  'insertOne',
  'updateOne',
  'replaceOne',
  'deleteOne',
  'createIndex',
  'createIndexes',
  'dropIndex',
]

/** Where a process is paused, along with the renewals of its lease: at the first call of one kind. */
interface Pause {
  readonly at: string
  readonly reached: PromiseWithResolvers<void>
  readonly over: PromiseWithResolvers<void>
}

/** Connections that report each kind of write, and pause before the first one of `pause`'s kind. */
function pausing(mongo: Mongo, seen: Set<string>, pause?: Pause): Mongo {
  let isPaused = false
  const leaseWrites = new Set<Promise<unknown>>()
  const before = async (kind: string) => {
    const isFirst = !seen.has(kind)
    seen.add(kind)
    if (pause?.at !== kind || !isFirst) return
    isPaused = true
    await Promise.allSettled(leaseWrites)
    pause.reached.resolve()
    await pause.over.promise
    isPaused = false
  }
  const collection = (name: string) => {
    const real = mongo.db.collection(name)
    if (name === 'store_versions') {
      const updateOne = async (...values: unknown[]) => {
        if (isPaused) await pause?.over.promise
        const write: Promise<unknown> = Reflect.apply(real.updateOne, real, values)
        leaseWrites.add(write)
        return write.finally(() => leaseWrites.delete(write))
      }
      return Object.assign(Object.create(real), { updateOne })
    }
    const watched = COLLECTION_WRITES.map((method) => [
      method,
      async (...values: unknown[]) => {
        // In a transaction it is paused before the transaction.
        if (!values.some((value) => value instanceof Object && 'session' in value)) await before(`${name} ${method}`)
        return Reflect.apply(Reflect.get(real, method), real, values)
      },
    ])
    return Object.assign(Object.create(real), Object.fromEntries(watched))
  }
  let transactions = 0
  const transact: Mongo['transact'] = async (work, limitMs) => {
    await before(`transaction ${++transactions}`)
    return await mongo.transact(work, limitMs)
  }
  return Object.assign(Object.create(mongo), { db: Object.assign(Object.create(mongo.db), { collection }), transact })
}

async function migrateAll(mongo: Mongo): Promise<void> {
  for (const schema of SCHEMAS) await migrateMongo(mongo, schema, () => {})
}

/** Every document but the leases. */
async function dump(db: Db): Promise<Record<string, unknown>> {
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name)
  const documents = names
    .filter((name) => name !== 'store_versions')
    .map(async (name) => [name, await db.collection(name).find().sort({ _id: 1 }).toArray()])
  return Object.fromEntries(await Promise.all(documents))
}

/** What a server does meanwhile: it changes, deletes and adds documents. */
async function serve(db: Db): Promise<void> {
  await db.collection('sessions').updateMany({}, { $set: { titlePlace: 7 } })
  await db.collection('inbox').updateMany({ state: 'waiting' }, { $set: { state: 'delivered' } })
  await db.collection('inbox').deleteMany({ sessionId: 'ses_retried' })
  await db.collection('messages').updateMany({}, { $set: { data: '{"served":true}' } })
  await db.collection('messages').deleteMany({ sessionId: 'ses_failed' })
  await db.collection('parts').updateMany({ ordinal: 0 }, { $set: { data: '{"served":true}' } })
  await db.collection('parts').deleteMany({ ordinal: { $gt: 0 } })
}

test('a process that is paused in any step changes nothing once another has run the steps and its server has served', {
  skip: skipWithoutMongo,
}, async () => {
  using folder = scratchDirectory()
  const onFixture = async (use: (mongo: Mongo, other: Mongo) => Promise<void>) => {
    const database = freshDatabaseName()
    await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
    await using other = await openMongo({ uri: mongoUri() ?? '', database })
    try {
      await layOutDatabase('mongodb-1', database, join(folder.path, 'project'))
      await use(mongo, other)
    } finally {
      await mongo.db.dropDatabase()
    }
  }
  const kinds = new Set<string>()
  await onFixture((mongo) => migrateAll(pausing(mongo, kinds)))
  // The first ones split messages, and the last one belongs to the last step.
  const transactions = [...kinds].filter((kind) => kind.startsWith('transaction'))
  for (const between of transactions.slice(1, -1)) kinds.delete(between)
  // Of the indexes the first one of each service stands for all: they change no document.
  const indexes = [...kinds].filter((kind) => kind.includes('createIndex'))
  const serviceOf = (kind: string) => /^(inference_|identity\.|)/.exec(kind)?.[0]
  for (const [i, kind] of indexes.entries()) {
    if (indexes.findIndex((other) => serviceOf(other) === serviceOf(kind)) < i) kinds.delete(kind)
  }
  assert.ok(transactions.length > 2 && kinds.has('messages dropIndex'), [...kinds].join())
  const pausedAt = (at: string) =>
    onFixture(async (mongo, other) => {
      const pause: Pause = { at, reached: Promise.withResolvers(), over: Promise.withResolvers() }
      const paused = migrateAll(pausing(mongo, new Set(), pause))
      await Promise.race([pause.reached.promise, paused])
      await other.db.collection('store_versions').updateMany({}, { $set: { heldUntil: new Date(0) } })
      await migrateAll(other)
      await serve(other.db)
      const served = await dump(other.db)
      pause.over.resolve()
      await paused
      assert.deepEqual(await dump(other.db), served, `paused at ${at}`)
    })
  await Promise.all([...kinds].map(pausedAt))
})

test('a process that is killed while it makes the form of its data leaves that to the next; who starts beside it waits', {
  skip: skipWithoutMongo,
}, async () => {
  const schema = session.mongo
  const half = schema.steps.length >> 1
  const killed = new Error('killed')
  const dies = { version: half + 1, name: 'dies', up: () => Promise.reject(killed) }
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  try {
    const cut = prepareMongoSchema(mongo, { ...schema, steps: [...schema.steps.slice(0, half), dies] })
    await assert.rejects(cut, killed)
    await Promise.all([prepareMongoSchema(mongo, schema), prepareMongoSchema(mongo, schema)])
    const [found] = await mongo.db.collection('store_versions').find().toArray()
    assert.deepEqual([found?.version, found?.making], [schema.steps.at(-1)?.version, undefined])
    await mongo.db
      .collection<{ _id: string }>('store_versions')
      .updateOne({ _id: schema.name }, { $set: { version: 1 } })
    await assert.rejects(prepareMongoSchema(mongo, schema), OlderStoreError)
  } finally {
    await mongo.db.dropDatabase()
  }
})
