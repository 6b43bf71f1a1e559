import type { MongoSchema, MongoStepStore } from '#shared/stores/mongo-schema.ts'

/** The schema steps of the inference service in MongoDB. */
export const SCHEMA: MongoSchema = {
  name: 'inference',
  collection: 'inference_ledger',
  steps: [
    { version: 1, name: 'the first schema', up: first },
    { version: 2, name: 'without an unused index', up: dropTimes },
    { version: 3, name: 'presets', up: indexPresets },
    { version: 4, name: 'accounts of keys and workspaces', up: addAccounts },
  ],
}

async function first({ db }: MongoStepStore): Promise<void> {
  await db
    .collection('inference_ledger')
    .createIndexes([
      { key: { workspace: 1, startedAt: 1 } },
      { key: { startedAt: 1 }, partialFilterExpression: { status: 'open' } },
    ])
}

async function dropTimes({ db }: MongoStepStore): Promise<void> {
  await db
    .collection('inference_ledger')
    .dropIndex('workspace_1_startedAt_1')
    .catch((error: unknown) => {
      // Already dropped, by a process that was killed or by one that runs beside this one.
      if (!(error instanceof Error && 'codeName' in error && error.codeName === 'IndexNotFound')) throw error
    })
}

/** Its file needs the driver, which a process on SQLite does not load. */
async function addAccounts(store: MongoStepStore): Promise<void> {
  const step = await import('./steps/add-accounts.ts')
  await step.addAccounts(store)
}

async function indexPresets({ db }: MongoStepStore): Promise<void> {
  await db.collection('inference_presets').createIndexes([{ key: { workspace: 1, updatedAt: -1, '_id.slug': 1 } }])
  await db.collection('inference_preset_versions').createIndexes([{ key: { presetId: 1, '_id.version': 1 } }])
}
