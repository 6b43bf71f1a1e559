import type { DatabaseSync } from 'node:sqlite'
import { dayOf, monthOf, startOfDay, weekOf } from '#services/inference/domain/ledger/account.ts'

const COLUMNS = [
  ...['streamed INTEGER NOT NULL DEFAULT 0', "user TEXT NOT NULL DEFAULT ''", 'preset TEXT', 'attribution TEXT'],
  ...["metadata TEXT NOT NULL DEFAULT '{}'", 'estimated INTEGER NOT NULL DEFAULT 0'],
  ...['cost_known INTEGER NOT NULL DEFAULT 0', 'finish_reason TEXT', "raw_reason TEXT NOT NULL DEFAULT ''"],
  ...["service_tier TEXT NOT NULL DEFAULT ''", "left_out TEXT NOT NULL DEFAULT '[]'", 'first_part_ms INTEGER'],
  ...['held_nanos INTEGER NOT NULL DEFAULT 0', 'held_minute INTEGER NOT NULL DEFAULT 0'],
  ...['input_estimate INTEGER NOT NULL DEFAULT 0', 'noted_tokens INTEGER NOT NULL DEFAULT 0'],
  ...['input_price INTEGER', 'output_price INTEGER'],
]

const TABLE = `CREATE TABLE accounts (
    workspace TEXT NOT NULL, owner TEXT NOT NULL, total_nanos INTEGER NOT NULL,
    day INTEGER NOT NULL, day_nanos INTEGER NOT NULL, week_nanos INTEGER NOT NULL, month_nanos INTEGER NOT NULL,
    minute INTEGER NOT NULL, minute_requests INTEGER NOT NULL, minute_tokens INTEGER NOT NULL,
    held_nanos INTEGER NOT NULL, held_requests INTEGER NOT NULL,
    PRIMARY KEY (workspace, owner)
  ) STRICT, WITHOUT ROWID`

/** Adds columns to rows, and creates the account of each key and each workspace from the existing rows. */
export function addAccounts(database: DatabaseSync): void {
  for (const column of COLUMNS) database.exec(`ALTER TABLE ledger ADD COLUMN ${column}`)
  database.exec('UPDATE ledger SET cost_known = 1 WHERE cost_nanos > 0')
  database.exec('CREATE INDEX ledger_finished ON ledger (workspace, finished_at) WHERE finished_at IS NOT NULL')
  database.exec(TABLE)
  const day = dayOf(Date.now())
  const [today, week, month] = [day, weekOf(day), monthOf(day)].map(startOfDay)
  const sums = (owner: string): string => `INSERT INTO accounts SELECT workspace, ${owner}, sum(cost_nanos), ${day},
    sum(iif(finished_at >= ${today}, cost_nanos, 0)), sum(iif(finished_at >= ${week}, cost_nanos, 0)),
    sum(iif(finished_at >= ${month}, cost_nanos, 0)), 0, 0, 0, 0, sum(status = 'open') FROM ledger GROUP BY 1, 2`
  database.exec(sums('api_key_id'))
  database.exec(sums("'*'"))
}
