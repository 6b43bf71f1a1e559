import type { IndexDescription } from 'mongodb'
import type { MongoSchema } from '#shared/stores/mongo-schema.ts'
import { digestOf } from '#shared/stores/schema-step.ts'

const INDEXES: Readonly<Record<string, readonly IndexDescription[]>> = {
  inference_ledger: [{ key: { workspace: 1, finishedAt: 1 } }],
  inference_accounts: [
    { key: { heldRequests: 1 }, partialFilterExpression: { heldRequests: { $gt: 0 } } },
    { key: { workspace: 1, 'holds.ending': 1 } },
  ],
  inference_presets: [{ key: { workspace: 1, updatedAt: -1, '_id.slug': 1 } }],
  inference_preset_versions: [{ key: { presetId: 1, '_id.version': 1 } }],
}

/** The schema of what the inference service has in MongoDB. */
export const SCHEMA: MongoSchema = { name: 'inference', indexes: INDEXES, digest: digestOf(INDEXES), steps: [] }
