import type { Account } from '#services/inference/domain/ledger/account.ts'
import { holding, settling } from '#services/inference/domain/ledger/account.ts'
import { type Admission, admit } from '#services/inference/domain/ledger/admission.ts'
import type { ActivityQuery, ActivitySum, LedgerEntry, LedgerProgress } from '#services/inference/ports/ledger.ts'
import { Rejection } from '#shared/rejection.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { lostClosing } from '../common/lost-closing.ts'
import { AccountRows, WORKSPACE } from './account-rows.ts'
import { sumRows } from './activity-rows.ts'
import { CLOSE, type CloseCall, entryOf, OPEN, type OpenCall, toCloseCall } from './ledger-rows.ts'
import { STEPS } from './schema.ts'

const GET = 'SELECT * FROM ledger WHERE workspace = ? AND request_id = ?'
const LEFT = "SELECT * FROM ledger WHERE status = 'open'"
const NOTE = "UPDATE ledger SET noted_tokens = ? WHERE workspace = ? AND request_id = ? AND status = 'open'"

/** The file of the ledger, as the thread that owns it sees it. What is called at once is written in one commit. */
export class LedgerFile {
  readonly #file: SqliteFile
  readonly #accounts = new AccountRows(() => this.#file)

  constructor(path: string) {
    this.#file = new SqliteFile(path, { steps: STEPS, exclusive: true, beforeCommit: () => this.#accounts.write() })
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  open({ workspace, requestId, apiKeyId, demand, terms, values, now }: OpenCall): Promise<Admission> {
    return this.#write(() => {
      const key = this.#accounts.get(workspace, apiKeyId)
      const whole = this.#accounts.get(workspace, WORKSPACE)
      const admission = admit({ key, workspace: whole }, demand, terms, now)
      if (!admission.admitted) return admission
      const { hold } = admission
      const { changes } = this.#file.statement(OPEN).run(...values, hold.nanos, hold.minute)
      if (changes === 0) throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId })
      this.#accounts.set(workspace, apiKeyId, holding(key, hold, now))
      this.#accounts.set(workspace, WORKSPACE, holding(whole, hold, now))
      return admission
    })
  }

  close(calls: readonly CloseCall[], now: number): Promise<void> {
    return this.#write(() => this.#close(calls, now))
  }

  note(progress: readonly LedgerProgress[]): Promise<void> {
    return this.#write(() => {
      const update = this.#file.statement(NOTE)
      for (const { workspace, requestId, outputTokens } of progress) update.run(outputTokens, workspace, requestId)
    })
  }

  /** Settles every row that is open: whoever opened it is gone. */
  settle(now: number): Promise<void> {
    return this.#write(() => {
      const left = this.#file.statement(LEFT)
      left.setReadBigInts(true)
      const rows = left.all() as Record<string, unknown>[]
      this.#close(
        rows.map((row) => {
          const [input, output] = [row.input_price, row.output_price] as (bigint | null)[]
          const lost = lostClosing({
            ...entryOf(row),
            inputEstimate: row.input_estimate as bigint,
            notedTokens: row.noted_tokens as bigint,
            prices: input == null || output == null ? undefined : { inputNanos: input, outputNanos: output },
          })
          return toCloseCall(lost, now)
        }),
        now,
      )
    })
  }

  async get(workspace: string, requestId: string): Promise<LedgerEntry | undefined> {
    const statement = this.#file.statement(GET)
    statement.setReadBigInts(true)
    const row = statement.get(workspace, requestId)
    return row === undefined ? undefined : entryOf(row)
  }

  async accounts(workspace: string, owners: readonly string[]): Promise<readonly Account[]> {
    return owners.map((owner) => this.#accounts.get(workspace, owner))
  }

  async activity(query: ActivityQuery): Promise<readonly ActivitySum[]> {
    return sumRows(this.#file, query)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  /** A job that SQLite fails may have taken the whole transaction with it. */
  async #write<T>(job: () => T): Promise<T> {
    try {
      return await this.#file.write(job)
    } catch (error) {
      if (!(error instanceof Rejection)) this.#accounts.forget()
      throw error
    }
  }

  #close(calls: readonly CloseCall[], now: number): void {
    const close = this.#file.statement(CLOSE)
    close.setReadBigInts(true)
    const settled = calls.flatMap(({ workspace, values, spent }) => {
      const row = close.get(...values) as Record<string, unknown> | undefined
      return row === undefined ? [] : [{ workspace, spent, row }]
    })
    for (const { workspace, spent, row } of settled) {
      const hold = {
        nanos: row.held_nanos as bigint,
        inputTokens: row.input_estimate as bigint,
        minute: Number(row.held_minute),
      }
      for (const owner of [row.api_key_id as string, WORKSPACE]) {
        this.#accounts.set(workspace, owner, settling(this.#accounts.get(workspace, owner), hold, spent, now))
      }
    }
  }
}
