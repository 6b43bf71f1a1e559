import type { IndexDescription } from 'mongodb'
import type { MongoSchema } from '#shared/stores/mongo-schema.ts'
import { mongoSchema } from '#shared/stores/mongo-table.ts'
import { digestOf } from '#shared/stores/schema-step.ts'
import { presets, presetVersions } from '../tables/presets.ts'

const INDEXES: Readonly<Record<string, readonly IndexDescription[]>> = {
  inference_ledger: [{ key: { workspace: 1, finishedAt: 1 } }],
  inference_accounts: [
    { key: { heldRequests: 1 }, partialFilterExpression: { heldRequests: { $gt: 0 } } },
    { key: { workspace: 1, 'holds.ending': 1 } },
  ],
  ...mongoSchema('inference', [presets, presetVersions], { prefix: 'inference_' }).indexes,
}

/** The schema of what the inference service has in MongoDB. */
export const SCHEMA: MongoSchema = { name: 'inference', indexes: INDEXES, digest: digestOf(INDEXES), steps: [] }
