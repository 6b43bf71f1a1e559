import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import {
  isMongoStored,
  type MongoSchema,
  type MongoStep,
  migrateMongo,
  prepareMongoSchema,
} from '#shared/stores/mongo-schema.ts'
import { OlderStoreError } from '#shared/stores/schema-step.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { waitFor } from '#test/support/wait-until.ts'

const options = { skip: skipWithoutMongo }
const STEP: MongoStep = {
  version: 2,
  name: 'texts have a length',
  up: ({ db, commit }) =>
    commit(async (session) => {
      const length = { $strLenCP: '$text' }
      await db.collection('texts').updateMany({ length: { $exists: false } }, [{ $set: { length } }], { session })
    }),
}
const INDEXES = { texts: [{ key: { text: 1 } }] } as const
const FIRST: MongoSchema = { name: 'texts', indexes: INDEXES, digest: 1, steps: [] }
const SECOND: MongoSchema = { ...FIRST, digest: 2, steps: [STEP] }

/** A database of its own, with connections like those of several processes. */
async function database() {
  const name = freshDatabaseName()
  const open = () => openMongo({ uri: mongoUri() ?? '', database: name })
  const [one, other] = [await open(), await open()]
  return {
    ...{ name, one, other },
    texts: () =>
      one.db
        .collection('texts')
        .find({}, { projection: { _id: 0 } })
        .toArray(),
    versions: one.db.collection<{
      _id: string
      version: number
      digest: number
      making?: true
      holder: string | null
      heldUntil: Date
    }>('store_versions'),
    /** Writes data of the first version. */
    async writeFirst() {
      await prepareMongoSchema(one, FIRST)
      await one.db.collection('texts').insertOne({ text: 'kept' })
    },
    async [Symbol.asyncDispose]() {
      await one.db.dropDatabase()
      await one[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    },
  }
}

test('creates the indexes in an empty database, in several processes at once', options, async () => {
  await using store = await database()
  await Promise.all([store.one, store.other].map((mongo) => prepareMongoSchema(mongo, SECOND)))
  const { version, digest, making } = (await store.versions.findOne({ _id: 'texts' })) ?? {}
  assert.deepEqual([version, digest, making], [2, 2, undefined])
  const indexes = await store.one.db.collection('texts').indexes()
  assert.deepEqual(
    indexes.map(({ key }) => key),
    [{ _id: 1 }, { text: 1 }],
  )
})

test('completes the indexes that a killed process of any version left', options, async () => {
  await using store = await database()
  const heldUntil = new Date(0)
  await store.versions.insertOne({ _id: 'texts', version: 1, digest: 1, making: true, holder: null, heldUntil })
  assert.equal(await isMongoStored(store.one, SECOND), false)
  await prepareMongoSchema(store.one, SECOND)
  const { version, digest, making } = (await store.versions.findOne({ _id: 'texts' })) ?? {}
  assert.deepEqual([version, digest, making], [2, 2, undefined])
  assert.equal((await store.one.db.collection('texts').indexes()).length, 2)
})

test('takes data that another process begins while this one looks for it as its own form', options, async () => {
  await using store = await database()
  const late = Object.assign(Object.create(store.other.db) as typeof store.other.db, {
    listCollections: (...words: Parameters<typeof store.other.db.listCollections>) => ({
      async hasNext() {
        const found = await store.other.db.listCollections(...words).hasNext()
        await prepareMongoSchema(store.one, SECOND)
        return found
      },
    }),
  })
  await prepareMongoSchema(Object.assign(Object.create(store.other) as typeof store.other, { db: late }), SECOND)
  assert.equal((await store.versions.findOne({ _id: 'texts' }))?.version, 2)
})

test('refuses to open older data, and leaves it as it was', options, async () => {
  await using store = await database()
  await store.writeFirst()
  await assert.rejects(
    prepareMongoSchema(store.one, SECOND),
    (error) =>
      error instanceof OlderStoreError &&
      error.message ===
        `The data of texts in the database ${store.name} was written by an older Portico (version 1 instead of 2): stop the processes that use it and run \`npm run migrate\``,
  )
  assert.deepEqual(await store.texts(), [{ text: 'kept' }])
})

test('refuses to open and to migrate data of another digest, or of none, whatever its version', options, async () => {
  await using store = await database()
  await store.writeFirst()
  const isRefused = async (schema: MongoSchema) => {
    const refused = (error: unknown) =>
      error instanceof ConfigError &&
      error.message ===
        `The data of texts in the database ${store.name} has another form, which other code from before the first release wrote: export its sessions with that code, or name another store in PORTICO_MONGODB_DATABASE`
    await assert.rejects(prepareMongoSchema(store.one, schema), refused)
    await assert.rejects(
      migrateMongo(store.one, schema, () => {}),
      refused,
    )
  }
  await isRefused({ ...FIRST, digest: 3 })
  await store.versions.updateOne({ _id: 'texts' }, { $set: { version: 14 }, $unset: { digest: true } })
  await isRefused(FIRST)
  await store.versions.deleteOne({ _id: 'texts' })
  await isRefused(FIRST)
  assert.deepEqual(await store.texts(), [{ text: 'kept' }])
})

test(
  'runs each step once when processes migrate at the same time, and nothing when they migrate again',
  options,
  async () => {
    await using store = await database()
    await store.writeFirst()
    const lines: string[] = []
    const migrate = () =>
      Promise.all([store.one, store.other].map((mongo) => migrateMongo(mongo, SECOND, (line) => lines.push(line))))
    await migrate()
    await migrate()
    assert.deepEqual(lines, [
      `The data of texts in the database ${store.name}: migrating it to version 2 (texts have a length)`,
    ])
    assert.deepEqual(await store.texts(), [{ text: 'kept', length: 4 }])
    await prepareMongoSchema(store.one, SECOND)
  },
)

test('creates nothing when it migrates a database without data', options, async () => {
  await using store = await database()
  await migrateMongo(store.one, SECOND, () => {})
  assert.deepEqual(await store.one.db.listCollections().toArray(), [])
})

test('refuses to open and to migrate what a newer program wrote', options, async () => {
  await using store = await database()
  await prepareMongoSchema(store.one, SECOND)
  const oneLine = (error: unknown) =>
    error instanceof ConfigError &&
    error.message ===
      `The data of texts in the database ${store.name} was written by a newer Portico (version 2, this one knows 1): use that version, or name another store in PORTICO_MONGODB_DATABASE`
  await assert.rejects(prepareMongoSchema(store.one, FIRST), oneLine)
  await assert.rejects(
    migrateMongo(store.one, FIRST, () => {}),
    oneLine,
  )
})

test('runs a step again that failed half-way, without waiting', options, async () => {
  await using store = await database()
  await store.writeFirst()
  const broken: MongoStep = {
    ...STEP,
    async up(store) {
      await STEP.up(store)
      throw new Error('no more room')
    },
  }
  await assert.rejects(
    migrateMongo(store.one, { ...SECOND, steps: [broken] }, () => {}),
    /no more room/,
  )
  assert.deepEqual((await store.versions.findOne({ _id: 'texts' }))?.version, 1)
  await migrateMongo(store.other, SECOND, () => {})
  assert.deepEqual(await store.texts(), [{ text: 'kept', length: 4 }])
})

test('takes over the steps of a killed process once its lease has run out, and not before', options, async () => {
  await using store = await database()
  await store.writeFirst()
  await store.versions.updateOne({ _id: 'texts' }, { $set: { holder: 'killed', heldUntil: new Date('2200-01-01') } })
  let asked = 0
  const collection = (name: string) => {
    asked++
    return store.one.db.collection(name)
  }
  const db = Object.assign(Object.create(store.one.db), { collection })
  let released = false
  const careful: MongoStep = {
    ...STEP,
    async up({ commit }) {
      assert.ok(released)
      await STEP.up({ db: store.one.db, commit })
    },
  }
  const migrated = migrateMongo({ ...store.one, db }, { ...SECOND, steps: [careful] }, () => {})
  await waitFor('it has asked for the lease twice', () => asked > 6)
  released = true
  await store.versions.updateOne({ _id: 'texts' }, { $set: { heldUntil: new Date(0) } })
  await migrated
  assert.deepEqual(await store.texts(), [{ text: 'kept', length: 4 }])
})
