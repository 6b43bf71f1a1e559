import type { SqliteStep } from '#shared/stores/sqlite-schema.ts'
import { addAccounts } from './steps/add-accounts.ts'
import { addDailySums } from './steps/add-daily-sums.ts'

const FIRST = [
  `CREATE TABLE IF NOT EXISTS ledger (
    workspace TEXT NOT NULL, request_id TEXT NOT NULL, api_key_id TEXT NOT NULL, origin TEXT NOT NULL,
    session_id TEXT NOT NULL, provider_id TEXT NOT NULL, model_id TEXT NOT NULL, status TEXT NOT NULL,
    input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
    reasoning_tokens INTEGER, cost_nanos INTEGER NOT NULL, error TEXT NOT NULL,
    started_at INTEGER NOT NULL, finished_at INTEGER,
    PRIMARY KEY (workspace, request_id)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS ledger_time ON ledger (workspace, started_at)`,
  `CREATE INDEX IF NOT EXISTS ledger_open ON ledger (status) WHERE status = 'open'`,
]

/** The schema steps of `inference.sqlite`. */
export const STEPS: readonly SqliteStep[] = [
  { version: 1, name: 'the first schema', up: (database) => database.exec(FIRST.join(';\n')) },
  {
    version: 2,
    name: 'without an unused index',
    up: (database) => database.exec('DROP INDEX IF EXISTS ledger_time'),
  },
  { version: 3, name: 'accounts of keys and workspaces', up: addAccounts },
  { version: 4, name: 'daily sums', up: addDailySums },
]
