import { MongoPresetStore } from '#services/inference/adapters/mongo/preset-store.ts'
import { SCHEMA } from '#services/inference/adapters/mongo/schema.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { presetStoreSuite } from './preset-store.suite.ts'

presetStoreSuite(
  'MongoDB',
  async () => {
    const database = freshDatabaseName()
    const [mongo, other] = await Promise.all(
      [database, database].map((name) => openMongo({ uri: mongoUri() ?? '', database: name })),
    )
    if (mongo === undefined || other === undefined) throw new Error('There are no connections')
    await prepareMongoSchema(mongo, SCHEMA)
    return {
      stores: [new MongoPresetStore(mongo), new MongoPresetStore(other)],
      async setStatus(workspace, slug, status, at) {
        const change = { $set: { status, statusUpdatedAt: new Date(at) } }
        await mongo.db.collection<{ _id: object }>('inference_presets').updateOne({ _id: { workspace, slug } }, change)
      },
      async [Symbol.asyncDispose]() {
        await mongo.db.dropDatabase()
        await mongo[Symbol.asyncDispose]()
        await other[Symbol.asyncDispose]()
      },
    }
  },
  { skip: skipWithoutMongo },
)
