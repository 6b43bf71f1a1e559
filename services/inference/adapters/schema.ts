import { mongoSchema } from '#shared/stores/mongo-table.ts'
import { sqliteSchema } from '#shared/stores/sqlite-table.ts'
import { accounts } from './tables/accounts.ts'
import { dailySums, leases, ledger } from './tables/ledger.ts'
import { presets, presetVersions } from './tables/presets.ts'

/** The schema of `inference.sqlite`. */
export const SQLITE = sqliteSchema([ledger, accounts, dailySums])

/** The schema of `presets.sqlite`. */
export const SQLITE_PRESETS = sqliteSchema([presets, presetVersions])

/** The schema of what the inference service has in MongoDB. */
export const MONGO = mongoSchema('inference', [ledger, leases, accounts, presets, presetVersions], {
  prefix: 'inference_',
})
