// Preloaded into a server: the disk of the ledger's thread takes long for each commit with rows. The rows of each
// commit are written to a file, in a line when it begins and one when it has ended.
import { appendFileSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'
import { isMainThread, workerData } from 'node:worker_threads'

/** How long a commit takes. */
const COMMIT_MS = 1_500
/** How long the second one takes instead; then the others take no time. */
const HANG_MS = process.env.SLOW_COMMITS_HANG_MS

const log = process.env.SLOW_COMMITS_LOG
const { path = '' } = (isMainThread ? {} : (workerData ?? {})) as { readonly path?: string }
if (log !== undefined && path.endsWith('inference.sqlite')) slowDown(log)

function slowDown(log: string): void {
  let [opened, closed] = [0, 0]
  let commits = 0
  const { run } = StatementSync.prototype
  StatementSync.prototype.run = function (this: StatementSync, ...values: never[]) {
    const sql = this.sourceSQL
    if (sql.startsWith('INSERT INTO ledger')) opened++
    if (sql.startsWith('UPDATE ledger SET status')) closed++
    if (sql !== 'COMMIT' || opened + closed === 0) return Reflect.apply(run, this, values)
    const rows = { opened, closed }
    opened = 0
    closed = 0
    appendFileSync(log, `${JSON.stringify({ at: 'begin', ...rows })}\n`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, msOf(++commits))
    const changes = Reflect.apply(run, this, values)
    appendFileSync(log, `${JSON.stringify({ at: 'end', ...rows })}\n`)
    return changes
  }
}

function msOf(commit: number): number {
  if (HANG_MS === undefined) return COMMIT_MS
  return commit === 2 ? Number(HANG_MS) : 0
}
