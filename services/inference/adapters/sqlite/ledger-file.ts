import type { Account } from '#services/inference/domain/ledger/account.ts'
import { holding, settling } from '#services/inference/domain/ledger/account.ts'
import { type Admission, admit, type Demand } from '#services/inference/domain/ledger/admission.ts'
import type { KeyTerms } from '#services/inference/domain/ledger/key-terms.ts'
import type {
  ActivityQuery,
  ActivitySum,
  LedgerClosing,
  LedgerEntry,
  LedgerOpening,
  LedgerProgress,
} from '#services/inference/ports/ledger.ts'
import { Rejection } from '#shared/rejection.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { lostClosing } from '../common/lost-closing.ts'
import { AccountChanges, readAccount, WORKSPACE, writeAccount } from './account-rows.ts'
import { sumRows } from './activity-rows.ts'
import { CLOSE, closedValues, entryOf, OPEN, openedValues } from './ledger-rows.ts'
import { STEPS } from './schema.ts'

const GET = 'SELECT * FROM ledger WHERE workspace = ? AND request_id = ?'
const LEFT = "SELECT * FROM ledger WHERE status = 'open'"
const NOTE = "UPDATE ledger SET noted_tokens = ? WHERE workspace = ? AND request_id = ? AND status = 'open'"

/** The file of the ledger, as the thread that owns it sees it. What is called at once is written in one commit. */
export class LedgerFile {
  readonly #file: SqliteFile

  constructor(path: string) {
    this.#file = new SqliteFile(path, { steps: STEPS, exclusive: true })
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  open(opening: LedgerOpening, demand: Demand, terms: KeyTerms | undefined, now: number): Promise<Admission> {
    const { workspace, requestId, apiKeyId } = opening
    return this.#file.write(() => {
      const key = readAccount(this.#file, workspace, apiKeyId)
      const whole = readAccount(this.#file, workspace, WORKSPACE)
      const admission = admit({ key, workspace: whole }, demand, terms, now)
      if (!admission.admitted) return admission
      const { hold } = admission
      const { changes } = this.#file.statement(OPEN).run(...openedValues(opening, demand, hold, now))
      if (changes === 0) throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId })
      writeAccount(this.#file, workspace, apiKeyId, holding(key, hold, now))
      writeAccount(this.#file, workspace, WORKSPACE, holding(whole, hold, now))
      return admission
    })
  }

  close(closings: readonly LedgerClosing[], now: number): Promise<void> {
    return this.#file.write(() => this.#close(closings, now))
  }

  note(progress: readonly LedgerProgress[]): Promise<void> {
    return this.#file.write(() => {
      const update = this.#file.statement(NOTE)
      for (const { workspace, requestId, outputTokens } of progress) update.run(outputTokens, workspace, requestId)
    })
  }

  /** Settles every row that is open: whoever opened it is gone. */
  settle(now: number): Promise<void> {
    return this.#file.write(() => {
      const left = this.#file.statement(LEFT)
      left.setReadBigInts(true)
      const rows = left.all() as Record<string, unknown>[]
      this.#close(
        rows.map((row) => {
          const [input, output] = [row.input_price, row.output_price] as (bigint | null)[]
          return lostClosing({
            ...entryOf(row),
            inputEstimate: row.input_estimate as bigint,
            notedTokens: row.noted_tokens as bigint,
            prices: input == null || output == null ? undefined : { inputNanos: input, outputNanos: output },
          })
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
    return owners.map((owner) => readAccount(this.#file, workspace, owner))
  }

  async activity(query: ActivityQuery): Promise<readonly ActivitySum[]> {
    return sumRows(this.#file, query)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  #close(closings: readonly LedgerClosing[], now: number): void {
    const close = this.#file.statement(CLOSE)
    close.setReadBigInts(true)
    const accounts = new AccountChanges(this.#file)
    for (const closing of closings) {
      const row = close.get(...closedValues(closing, now)) as Record<string, unknown> | undefined
      if (row === undefined) continue
      const hold = {
        nanos: row.held_nanos as bigint,
        inputTokens: row.input_estimate as bigint,
        minute: Number(row.held_minute),
      }
      const { inputTokens = 0n, outputTokens = 0n } = closing.usage ?? {}
      const spent = { nanos: closing.costNanos, inputTokens, outputTokens }
      accounts.change(closing.workspace, row.api_key_id as string, (account) => settling(account, hold, spent, now))
    }
    accounts.write()
  }
}
