import {
  type Ledger,
  type LedgerClosing,
  type LedgerEntry,
  type LedgerOpening,
  PROCESS_LOST,
} from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { STEPS } from './schema.ts'

const OPEN = `INSERT INTO ledger (workspace, request_id, api_key_id, origin, session_id, provider_id, model_id, status,
  cost_nanos, error, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'open', 0, '', ?) ON CONFLICT DO NOTHING`
const CLOSE = `UPDATE ledger SET status = ?, input_tokens = ?, output_tokens = ?, cache_read_tokens = ?,
  cache_write_tokens = ?, reasoning_tokens = ?, cost_nanos = ?, error = ?, finished_at = ?
  WHERE workspace = ? AND request_id = ? AND status = 'open'`
const SETTLE = `UPDATE ledger SET status = 'aborted', error = ?, finished_at = ? WHERE status = 'open' AND started_at < ?`
const GET = 'SELECT * FROM ledger WHERE workspace = ? AND request_id = ?'

/** The ledger in a SQLite file that this process owns. */
export class SqliteLedger implements Ledger {
  readonly #file: SqliteFile
  readonly #clock: Clock

  private constructor(file: SqliteFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** Opens the file, and settles every row that is open in it: whoever opened it is gone. */
  static async open(path: string, clock: Clock): Promise<SqliteLedger> {
    const ledger = new SqliteLedger(new SqliteFile(path, { steps: STEPS, exclusive: true }), clock)
    await ledger.settle(Number.MAX_SAFE_INTEGER)
    return ledger
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  open(opening: LedgerOpening): Promise<void> {
    const { workspace, requestId, apiKeyId, origin, sessionId, providerId, modelId } = opening
    const now = this.#clock.now()
    return this.#file.write(() => {
      const insert = this.#file.statement(OPEN)
      const { changes } = insert.run(workspace, requestId, apiKeyId, origin, sessionId, providerId, modelId, now)
      if (changes === 0) throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId })
    })
  }

  close(closings: readonly LedgerClosing[]): Promise<void> {
    const now = this.#clock.now()
    return this.#file.write(() => {
      const update = this.#file.statement(CLOSE)
      for (const { workspace, requestId, status, usage, costNanos, error } of closings) {
        const { inputTokens = null, outputTokens = null, cacheReadTokens = null } = usage ?? {}
        const { cacheWriteTokens = null, reasoningTokens = null } = usage ?? {}
        const tokens = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens]
        update.run(status, ...tokens, costNanos, error, now, workspace, requestId)
      }
    })
  }

  async settle(openedBefore: number): Promise<void> {
    const now = this.#clock.now()
    await this.#file.write(() => this.#file.statement(SETTLE).run(PROCESS_LOST, now, openedBefore))
  }

  async get(workspace: string, requestId: string): Promise<LedgerEntry | undefined> {
    const statement = this.#file.statement(GET)
    statement.setReadBigInts(true)
    const row = statement.get(workspace, requestId)
    return row === undefined ? undefined : entryOf(row)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }
}

function entryOf(row: Record<string, unknown>): LedgerEntry {
  const usage = {
    inputTokens: row.input_tokens as bigint,
    outputTokens: row.output_tokens as bigint,
    cacheReadTokens: row.cache_read_tokens as bigint,
    cacheWriteTokens: row.cache_write_tokens as bigint,
    reasoningTokens: row.reasoning_tokens as bigint,
  }
  return {
    workspace: row.workspace as string,
    requestId: row.request_id as string,
    apiKeyId: row.api_key_id as string,
    origin: row.origin as string,
    sessionId: row.session_id as string,
    providerId: row.provider_id as string,
    modelId: row.model_id as string,
    status: row.status as LedgerEntry['status'],
    usage: row.input_tokens === null ? undefined : usage,
    costNanos: row.cost_nanos as bigint,
    error: row.error as string,
    startedAt: Number(row.started_at),
    finishedAt: row.finished_at === null ? undefined : Number(row.finished_at),
  }
}
