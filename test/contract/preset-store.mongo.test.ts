import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MongoPresetStore } from '#services/inference/adapters/mongo/preset-store.ts'
import { MONGO } from '#services/inference/adapters/schema.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { mongoUri, sharedDatabase, skipWithoutMongo } from '#test/support/mongo.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { draft, presetStoreSuite } from './preset-store.suite.ts'

const emptied = sharedDatabase()

presetStoreSuite(
  'MongoDB',
  async () => {
    const mongo = await emptied()
    const other = await openMongo({ uri: mongoUri() ?? '', database: mongo.db.databaseName })
    await prepareMongoSchema(mongo, MONGO)
    return {
      stores: [new MongoPresetStore(mongo), new MongoPresetStore(other)],
      async setStatus(workspaceId, slug, status, statusUpdateTime) {
        const presets = mongo.db.collection<{ _id: object }>('inference_presets')
        await presets.updateOne({ _id: { workspaceId, slug } }, { $set: { status, statusUpdateTime } })
      },
      [Symbol.asyncDispose]: () => other[Symbol.asyncDispose](),
    }
  },
  { skip: skipWithoutMongo },
)

test('MongoDB: a write that does not get its turn in time is a conflict, and writes nothing, also later', {
  skip: skipWithoutMongo,
}, async () => {
  const mongo = await emptied()
  await prepareMongoSchema(mongo, MONGO)
  const store = new MongoPresetStore(mongo)
  await store.createVersion('wrk_1', 'a', draft())
  const hasty: Mongo = Object.assign(Object.create(mongo), { limitMs: 300 })
  const other = new MongoPresetStore(hasty)
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holder = mongo.transact(async (session) => {
    const presets = mongo.db.collection<{ _id: object }>('inference_presets')
    await presets.updateOne({ _id: { workspaceId: 'wrk_1', slug: 'a' } }, { $set: { name: 'Held' } }, { session })
    locked.resolve()
    await over.promise
  })
  await locked.promise
  // The second one waits for its turn in the process, and its time is up before that.
  const calls = [1, 2].map(() => other.createVersion('wrk_1', 'a', draft()))
  const conflict = reasonOfRejection('PRESET_CONFLICT', { slug: 'a' })
  await Promise.all(calls.map((call) => assert.rejects(call, conflict)))
  over.resolve()
  await holder
  const { designatedVersion, preset } = await store.createVersion('wrk_1', 'a', draft())
  assert.deepEqual([designatedVersion.version, preset.name], [2, 'Held'])
  assert.equal((await store.listVersions('wrk_1', 'a', { offset: 0, limit: 9 }))?.total, 2)
})
