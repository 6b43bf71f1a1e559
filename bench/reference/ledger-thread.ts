import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** A row to open, which holds a cost, or, with the cost that it had, to close. */
export interface LedgerJob {
  readonly id: string
  readonly key: string
  readonly model: string
  readonly held: number
  readonly cost?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
}

const database = new DatabaseSync(workerData as string)
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  CREATE TABLE ledger (id TEXT PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL, held INTEGER NOT NULL,
    cost INTEGER, input INTEGER, output INTEGER, started INTEGER NOT NULL, finished INTEGER) WITHOUT ROWID;
  CREATE INDEX ledger_open ON ledger (status) WHERE status = 'open';
  CREATE TABLE accounts (id TEXT PRIMARY KEY, held INTEGER NOT NULL, spent INTEGER NOT NULL, requests INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE days (key TEXT NOT NULL, model TEXT NOT NULL, day INTEGER NOT NULL, cost INTEGER NOT NULL, requests INTEGER NOT NULL,
    PRIMARY KEY (key, model, day)) WITHOUT ROWID;
`)
const open = database.prepare(
  `INSERT INTO ledger (id, key, model, status, held, started) VALUES (?, ?, ?, 'open', ?, ?)`,
)
const close = database.prepare(
  `UPDATE ledger SET status = 'completed', cost = ?, input = ?, output = ?, finished = ? WHERE id = ?`,
)
const account = database.prepare(`INSERT INTO accounts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
  SET held = held + excluded.held, spent = spent + excluded.spent, requests = requests + excluded.requests`)
const day = database.prepare(`INSERT INTO days VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE
  SET cost = cost + excluded.cost, requests = requests + 1`)
const begin = database.prepare('BEGIN IMMEDIATE')
const commit = database.prepare('COMMIT')

let batches: (readonly LedgerJob[])[] = []
parentPort?.on('message', (jobs: readonly LedgerJob[]) => {
  if (batches.length === 0) setImmediate(flush)
  batches.push(jobs)
})

/** All that came since the last commit is in the next one. */
function flush(): void {
  const now = Date.now()
  const all = batches
  batches = []
  begin.run()
  for (const { id, key, model, held, cost, inputTokens = 0, outputTokens = 0 } of all.flat()) {
    if (cost === undefined) open.run(id, key, model, held, now)
    else {
      close.run(cost, inputTokens, outputTokens, now, id)
      day.run(key, model, Math.floor(now / 86_400_000), cost)
    }
    const change = cost === undefined ? [held, 0, 1] : [-held, cost, 0]
    for (const owner of [key, 'workspace']) account.run(owner, ...change)
  }
  commit.run()
  for (const _ of all) parentPort?.postMessage(undefined)
}
