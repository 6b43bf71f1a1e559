import type { Ledger, LedgerClosing, LedgerEntry, LedgerOpening } from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { STEPS } from './schema.ts'

const BEGIN = `INSERT INTO ledger (workspace, request_id, api_key_id, origin, session_id, provider_id, model_id, status,
  cost_nanos, error, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'open', 0, '', ?) ON CONFLICT DO NOTHING`
const FINISH = `UPDATE ledger SET status = ?, input_tokens = ?, output_tokens = ?, cache_read_tokens = ?,
  cache_write_tokens = ?, reasoning_tokens = ?, cost_nanos = ?, error = ?, finished_at = ?
  WHERE workspace = ? AND request_id = ? AND status = 'open'`
const CLOSE_ALL = `UPDATE ledger SET status = 'aborted', finished_at = ? WHERE status = 'open'`
const GET = 'SELECT * FROM ledger WHERE workspace = ? AND request_id = ?'

/** The ledger in a SQLite file that this process owns. */
export class SqliteLedger implements Ledger {
  readonly #file: SqliteFile
  readonly #clock: Clock

  private constructor(file: SqliteFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** Opens the file, and closes the rows that a crash left open. */
  static async open(path: string, clock: Clock): Promise<SqliteLedger> {
    const file = new SqliteFile(path, { steps: STEPS, exclusive: true })
    await file.write(() => file.statement(CLOSE_ALL).run(clock.now()))
    return new SqliteLedger(file, clock)
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  begin(opening: LedgerOpening): Promise<void> {
    const { workspace, requestId, apiKeyId, origin, sessionId, providerId, modelId } = opening
    const now = this.#clock.now()
    return this.#file.write(() => {
      const insert = this.#file.statement(BEGIN)
      const { changes } = insert.run(workspace, requestId, apiKeyId, origin, sessionId, providerId, modelId, now)
      if (changes === 0) throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId })
    })
  }

  finish(workspace: string, requestId: string, closing: LedgerClosing): Promise<void> {
    const { status, usage, costNanos, error } = closing
    const now = this.#clock.now()
    return this.#file.write(() => {
      this.#file
        .statement(FINISH)
        .run(
          status,
          usage?.inputTokens ?? null,
          usage?.outputTokens ?? null,
          usage?.cacheReadTokens ?? null,
          usage?.cacheWriteTokens ?? null,
          usage?.reasoningTokens ?? null,
          costNanos,
          error,
          now,
          workspace,
          requestId,
        )
    })
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
