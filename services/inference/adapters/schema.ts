import { mongoSchema } from '#shared/stores/mongo-table.ts'
import { sqliteSchema } from '#shared/stores/sqlite-table.ts'
import { accounts } from './tables/accounts.ts'
import { dailySums, leases, ledger } from './tables/ledger.ts'
import { presets, presetVersions } from './tables/presets.ts'

export const SQLITE = sqliteSchema([ledger, accounts, dailySums])

export const SQLITE_PRESETS = sqliteSchema([presets, presetVersions])

export const MONGO = mongoSchema('inference', [ledger, leases, accounts, presets, presetVersions], {
  prefix: 'inference_',
})
