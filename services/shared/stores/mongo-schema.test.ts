import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { type MongoSchema, type MongoStep, migrateMongo, prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { OlderStoreError } from '#shared/stores/schema-step.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { waitFor } from '#test/support/wait-until.ts'

const options = { skip: skipWithoutMongo }
const FIRST: MongoStep = {
  version: 1,
  name: 'texts',
  up: async ({ db }) => void (await db.collection('texts').createIndex({ text: 1 })),
}
const SECOND: MongoStep = {
  version: 2,
  name: 'texts have a length',
  up: ({ db, commit }) =>
    commit(async (session) => {
      const length = { $strLenCP: '$text' }
      await db.collection('texts').updateMany({ length: { $exists: false } }, [{ $set: { length } }], { session })
    }),
}

function schemaOf(...steps: MongoStep[]): MongoSchema {
  return { name: 'texts', collection: 'texts', steps }
}

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
    versions: one.db.collection<{ _id: string; version: number; holder: string | null; heldUntil: Date }>(
      'store_versions',
    ),
    writeUnnumbered: () => one.db.collection('texts').insertOne({ text: 'kept' }),
    async [Symbol.asyncDispose]() {
      await one.db.dropDatabase()
      await one[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    },
  }
}

test('processes that start at once on an empty database create its schema once', options, async () => {
  await using store = await database()
  const runs: number[] = []
  const counted = [FIRST, SECOND].map(
    (step): MongoStep => ({
      ...step,
      up(store) {
        runs.push(step.version)
        return step.up(store)
      },
    }),
  )
  const schema = schemaOf(...counted)
  await Promise.all([store.one, store.other].map((mongo) => prepareMongoSchema(mongo, schema)))
  assert.deepEqual(runs, [1, 2])
  assert.equal((await store.versions.findOne({ _id: 'texts' }))?.version, 2)
})

test('data that another process begins while this one looks for it is not of an older version', options, async () => {
  await using store = await database()
  const schema = schemaOf(FIRST, SECOND)
  const late = Object.assign(Object.create(store.other.db) as typeof store.other.db, {
    listCollections: (...words: Parameters<typeof store.other.db.listCollections>) => ({
      async toArray() {
        await prepareMongoSchema(store.one, schema)
        return store.other.db.listCollections(...words).toArray()
      },
    }),
  })
  await prepareMongoSchema(Object.assign(Object.create(store.other) as typeof store.other, { db: late }), schema)
  assert.equal((await store.versions.findOne({ _id: 'texts' }))?.version, 2)
})

test('data without a version is of version 1, and waits for its steps, untouched', options, async () => {
  await using store = await database()
  await store.writeUnnumbered()
  await prepareMongoSchema(store.one, schemaOf(FIRST))
  await assert.rejects(
    prepareMongoSchema(store.one, schemaOf(FIRST, SECOND)),
    (error) =>
      error instanceof OlderStoreError &&
      error.message ===
        `The data of texts in the database ${store.name} was written by an older Portico (version 1 instead of 2): stop the processes that use it and run \`npm run migrate\``,
  )
  assert.deepEqual(await store.texts(), [{ text: 'kept' }])
})

test(
  'processes that migrate at once run each step once, the others wait; a second time changes nothing',
  options,
  async () => {
    await using store = await database()
    await store.writeUnnumbered()
    const lines: string[] = []
    const schema = schemaOf(FIRST, SECOND)
    const migrate = () =>
      Promise.all([store.one, store.other].map((mongo) => migrateMongo(mongo, schema, (line) => lines.push(line))))
    await migrate()
    await migrate()
    assert.deepEqual(lines, [
      `The data of texts in the database ${store.name}: migrating it to version 2 (texts have a length)`,
    ])
    assert.deepEqual(await store.texts(), [{ text: 'kept', length: 4 }])
    await prepareMongoSchema(store.one, schema)
  },
)

test('migrating creates nothing where there is no data', options, async () => {
  await using store = await database()
  await migrateMongo(store.one, schemaOf(FIRST, SECOND), () => {})
  assert.deepEqual(await store.one.db.listCollections().toArray(), [])
})

test('what a newer program wrote is refused in one line, by a start and by migrating', options, async () => {
  await using store = await database()
  await prepareMongoSchema(store.one, schemaOf(FIRST, SECOND))
  const oneLine = (error: unknown) =>
    error instanceof ConfigError &&
    error.message ===
      `The data of texts in the database ${store.name} was written by a newer Portico (version 2, this one knows 1): use that version, or name another store in PORTICO_MONGODB_DATABASE`
  await assert.rejects(prepareMongoSchema(store.one, schemaOf(FIRST)), oneLine)
  await assert.rejects(
    migrateMongo(store.one, schemaOf(FIRST), () => {}),
    oneLine,
  )
})

test('a step that fails half-way is run again by the next who migrates, without waiting', options, async () => {
  await using store = await database()
  await store.writeUnnumbered()
  const broken: MongoStep = {
    ...SECOND,
    async up(store) {
      await SECOND.up(store)
      throw new Error('no more room')
    },
  }
  await assert.rejects(
    migrateMongo(store.one, schemaOf(FIRST, broken), () => {}),
    /no more room/,
  )
  assert.deepEqual((await store.versions.findOne({ _id: 'texts' }))?.version, 1)
  await migrateMongo(store.other, schemaOf(FIRST, SECOND), () => {})
  assert.deepEqual(await store.texts(), [{ text: 'kept', length: 4 }])
})

test(
  'the steps of a process that was killed are taken over once its lease has run out, and not before',
  options,
  async () => {
    await using store = await database()
    await store.writeUnnumbered()
    await store.versions.insertOne({ _id: 'texts', version: 1, holder: 'killed', heldUntil: new Date('2200-01-01') })
    let asked = 0
    const collection = (name: string) => {
      asked++
      return store.one.db.collection(name)
    }
    const db = Object.assign(Object.create(store.one.db), { collection })
    let released = false
    const careful: MongoStep = {
      ...SECOND,
      async up({ commit }) {
        assert.ok(released)
        await SECOND.up({ db: store.one.db, commit })
      },
    }
    const migrated = migrateMongo({ ...store.one, db }, schemaOf(FIRST, careful), () => {})
    await waitFor('it has asked for the lease twice', () => asked > 6)
    released = true
    await store.versions.updateOne({ _id: 'texts' }, { $set: { heldUntil: new Date(0) } })
    await migrated
    assert.deepEqual(await store.texts(), [{ text: 'kept', length: 4 }])
  },
)
