import { digestOf } from '#shared/stores/schema-step.ts'
import type { SqliteSchema } from '#shared/stores/sqlite-schema.ts'

const CREATE = [
  `CREATE TABLE ledger (
    workspace TEXT NOT NULL, request_id TEXT NOT NULL, api_key_id TEXT NOT NULL, origin TEXT NOT NULL,
    session_id TEXT NOT NULL, provider_id TEXT NOT NULL, model_id TEXT NOT NULL, status TEXT NOT NULL,
    input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
    reasoning_tokens INTEGER, cost_nanos INTEGER NOT NULL, error TEXT NOT NULL,
    started_at INTEGER NOT NULL, finished_at INTEGER, streamed INTEGER NOT NULL DEFAULT 0,
    user TEXT NOT NULL DEFAULT '', preset TEXT, attribution TEXT, metadata TEXT NOT NULL DEFAULT '{}',
    estimated INTEGER NOT NULL DEFAULT 0, cost_known INTEGER NOT NULL DEFAULT 0, finish_reason TEXT,
    raw_reason TEXT NOT NULL DEFAULT '', service_tier TEXT NOT NULL DEFAULT '', left_out TEXT NOT NULL DEFAULT '[]',
    first_part_ms INTEGER, held_nanos INTEGER NOT NULL DEFAULT 0, held_minute INTEGER NOT NULL DEFAULT 0,
    input_estimate INTEGER NOT NULL DEFAULT 0, noted_tokens INTEGER NOT NULL DEFAULT 0, input_price INTEGER,
    output_price INTEGER,
    PRIMARY KEY (workspace, request_id)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX ledger_open ON ledger (status) WHERE status = 'open'`,
  'CREATE INDEX ledger_finished ON ledger (workspace, finished_at) WHERE finished_at IS NOT NULL',

  // Of each key and each workspace.
  `CREATE TABLE accounts (
    workspace TEXT NOT NULL, owner TEXT NOT NULL, total_nanos INTEGER NOT NULL,
    day INTEGER NOT NULL, day_nanos INTEGER NOT NULL, week_nanos INTEGER NOT NULL, month_nanos INTEGER NOT NULL,
    minute INTEGER NOT NULL, minute_requests INTEGER NOT NULL, minute_tokens INTEGER NOT NULL,
    held_nanos INTEGER NOT NULL, held_requests INTEGER NOT NULL,
    PRIMARY KEY (workspace, owner)
  ) STRICT, WITHOUT ROWID`,

  // Sums of the rows by UTC day of their end, key, provider and model.
  `CREATE TABLE daily_sums (
    workspace TEXT NOT NULL, day INTEGER NOT NULL, api_key_id TEXT NOT NULL, provider_id TEXT NOT NULL, model_id TEXT NOT NULL,
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (workspace, day, api_key_id, provider_id, model_id)
  ) STRICT, WITHOUT ROWID`,
]

/** The schema of `inference.sqlite`. */
export const SCHEMA: SqliteSchema = { create: CREATE, digest: digestOf(CREATE), steps: [] }
