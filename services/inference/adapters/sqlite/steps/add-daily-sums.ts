import type { DatabaseSync } from 'node:sqlite'

const COUNTS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens']

const TABLE = `CREATE TABLE daily_sums (
    workspace TEXT NOT NULL, day INTEGER NOT NULL, api_key_id TEXT NOT NULL, provider_id TEXT NOT NULL, model_id TEXT NOT NULL,
    requests INTEGER NOT NULL, ${COUNTS.map((name) => `${name} INTEGER NOT NULL`).join(', ')}, cost_nanos INTEGER NOT NULL,
    PRIMARY KEY (workspace, day, api_key_id, provider_id, model_id)
  ) STRICT, WITHOUT ROWID`

const FILL = `INSERT INTO daily_sums SELECT workspace, finished_at / 86400000, api_key_id, provider_id, model_id, count(*),
  ${COUNTS.map((name) => `sum(coalesce(${name}, 0))`).join(', ')}, sum(cost_nanos)
  FROM ledger WHERE finished_at IS NOT NULL GROUP BY 1, 2, 3, 4, 5`

/** Adds sums of the rows by UTC day of their end, key, provider and model. */
export function addDailySums(database: DatabaseSync): void {
  database.exec(TABLE)
  database.exec(FILL)
}
