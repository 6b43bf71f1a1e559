// Preloaded into a server: the disk of the ledger's thread takes long for each commit with rows. The rows of each
// commit are written to a file, in a line when it begins and one when it has ended.
import { appendFileSync } from 'node:fs'
import { StatementSync } from 'node:sqlite'
import { isMainThread, workerData } from 'node:worker_threads'

/** How long a commit takes; the others take no time if it is longer. */
const COMMIT_MS = 1_500
const FIRST_MS = Number(process.env.SLOW_COMMITS_FIRST_MS ?? COMMIT_MS)

const log = process.env.SLOW_COMMITS_LOG
const { path = '' } = (isMainThread ? {} : (workerData ?? {})) as { readonly path?: string }
if (log !== undefined && path.endsWith('inference.sqlite')) slowDown(log)

function slowDown(log: string): void {
  let [opened, closed] = [0, 0]
  let commitMs = FIRST_MS
  const { run, get } = StatementSync.prototype
  StatementSync.prototype.get = function (this: StatementSync, ...values: never[]) {
    if (this.sourceSQL.startsWith('UPDATE ledger')) closed++
    return Reflect.apply(get, this, values)
  }
  StatementSync.prototype.run = function (this: StatementSync, ...values: never[]) {
    const sql = this.sourceSQL
    if (sql.startsWith('INSERT INTO ledger')) opened++
    if (sql !== 'COMMIT' || opened + closed === 0) return Reflect.apply(run, this, values)
    const rows = { opened, closed }
    opened = 0
    closed = 0
    appendFileSync(log, `${JSON.stringify({ at: 'begin', ...rows })}\n`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, commitMs)
    commitMs = FIRST_MS > COMMIT_MS ? 0 : COMMIT_MS
    const changes = Reflect.apply(run, this, values)
    appendFileSync(log, `${JSON.stringify({ at: 'end', ...rows })}\n`)
    return changes
  }
}
