import type { Account } from '#services/inference/domain/ledger/account.ts'
import { correcting, holding, settling } from '#services/inference/domain/ledger/account.ts'
import { type Admission, admit } from '#services/inference/domain/ledger/admission.ts'
import {
  type ActivityQuery,
  type ActivitySum,
  type LedgerEntry,
  type LedgerProgress,
  PROCESS_LOST,
} from '#services/inference/ports/ledger.ts'
import { Rejection } from '#shared/rejection.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { AccountRows, WORKSPACE } from './account-rows.ts'
import { sumByMetadata } from './activity-rows.ts'
import { DailySums } from './daily-sums.ts'
import {
  type AbandonedRow,
  CLOSE,
  type CloseCall,
  CORRECT,
  COUNTED,
  countsOf,
  entryOf,
  lostClosingOf,
  OPEN,
  type OpenCall,
  placeOf,
  spentOf,
  toCloseCall,
} from './ledger-rows.ts'
import { SCHEMA } from './schema.ts'

const GET = 'SELECT * FROM ledger WHERE workspace = ? AND request_id = ?'
const LEFT = "SELECT * FROM ledger WHERE status = 'open'"
const NOTE = "UPDATE ledger SET noted_tokens = ? WHERE workspace = ? AND request_id = ? AND status = 'open'"

type Row = Readonly<Record<string, unknown>>

/** The file of the ledger, used by the thread that owns it. Concurrent calls are written in one commit. */
export class LedgerFile {
  readonly #file: SqliteFile
  readonly #accounts = new AccountRows(() => this.#file)
  readonly #sums = new DailySums(() => this.#file)
  #summing: Promise<unknown> = Promise.resolve()

  constructor(path: string) {
    const beforeCommit = (): void => this.#beforeCommit()
    const undone = (): void => this.#undone()
    this.#file = new SqliteFile(path, { schema: SCHEMA, exclusive: true, beforeCommit, undone })
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  open({ workspace, requestId, apiKeyId, maxCost, terms, values, now }: OpenCall): Promise<Admission> {
    return this.#file.write(() => {
      const key = this.#accounts.get(workspace, apiKeyId)
      const whole = this.#accounts.get(workspace, WORKSPACE)
      const admission = admit({ key, workspace: whole }, maxCost, terms, now)
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
    return this.#file.write(() => this.#close(calls, now))
  }

  note(progress: readonly LedgerProgress[]): Promise<void> {
    return this.#file.write(() => {
      const update = this.#file.statement(NOTE)
      for (const { workspace, requestId, outputTokens } of progress) update.run(outputTokens, workspace, requestId)
    })
  }

  /** Settles every open row: the process that opened it is gone. */
  settle(now: number): Promise<void> {
    return this.#file.write(() => {
      const left = this.#file.statement(LEFT)
      left.setReadBigInts(true)
      const rows = left.all() as Row[]
      this.#close(
        rows.map((row) => toCloseCall(lostClosingOf(row, true), now)),
        now,
      )
    })
  }

  /** Settles those of the rows that are open. */
  settleAbandoned(abandoned: readonly AbandonedRow[], now: number): Promise<void> {
    return this.#file.write(() => {
      const calls = abandoned.flatMap(({ workspace, requestId, wasCalled }) => {
        const row = this.#row(workspace, requestId)
        return row?.status === 'open' ? [toCloseCall(lostClosingOf(row, wasCalled), now)] : []
      })
      this.#close(calls, now)
    })
  }

  async get(workspace: string, requestId: string): Promise<LedgerEntry | undefined> {
    const row = this.#row(workspace, requestId)
    return row && entryOf(row)
  }

  async accounts(workspace: string, owners: readonly string[]): Promise<readonly Account[]> {
    return this.#accounts.look(workspace, owners)
  }

  async activity(query: ActivityQuery): Promise<readonly ActivitySum[]> {
    if (query.metadataKey === undefined) return this.#sums.read(query)
    // One after the other, so that many readers take no more of the thread than one.
    const sums = this.#summing.then(() => sumByMetadata(this.#file, query))
    this.#summing = sums.catch(() => {})
    return sums
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  #beforeCommit(): void {
    this.#accounts.write()
    this.#sums.write()
  }

  #undone(): void {
    this.#accounts.forget()
    this.#sums.forget()
  }

  #row(workspace: string, requestId: string): Row | undefined {
    const statement = this.#file.statement(GET)
    statement.setReadBigInts(true)
    return statement.get(workspace, requestId)
  }

  #close(calls: readonly CloseCall[], now: number): void {
    const close = this.#file.statement(CLOSE)
    close.setReadBigInts(true)
    const changes = calls.flatMap((call): Closed[] => {
      const row = close.get(...call.values)
      if (row === undefined) return this.#correct(call, now)
      const hold = {
        nanos: row.held_nanos as bigint,
        inputTokens: row.input_estimate as bigint,
        minute: Number(row.held_minute),
      }
      return [{ call, row, change: (account) => settling(account, hold, call.spent, now) }]
    })
    // Everything that can fail comes before the first change.
    for (const { call, row } of changes) this.#accounts.read(call.workspace, [row.api_key_id as string, WORKSPACE])
    for (const { call, row, before, change } of changes) {
      const { workspace } = call
      const place = { workspace, ...placeOf(row) }
      if (before !== undefined) this.#sums.remove({ ...place, ...before })
      this.#sums.add({ ...place, finishedAt: now, counts: countsOf(call) })
      for (const owner of [place.apiKeyId, WORKSPACE]) {
        this.#accounts.set(workspace, owner, change(this.#accounts.get(workspace, owner)))
      }
    }
  }

  /** A row that was mistaken for lost. */
  #correct(call: CloseCall, now: number): Closed[] {
    const row = this.#row(call.workspace, call.requestId)
    if (row?.error !== PROCESS_LOST) return []
    this.#file.statement(CORRECT).run(...call.values)
    const before = {
      finishedAt: Number(row.finished_at),
      counts: COUNTED.map((name) => (row[name] as bigint | null) ?? 0n),
    }
    return [{ call, row, before, change: (account) => correcting(account, spentOf(row), call.spent, now) }]
  }
}

/** A closed row, and the changes to its accounts. */
interface Closed {
  readonly call: CloseCall
  readonly row: Row
  /** What it counted, if it was closed before. */
  readonly before?: { readonly finishedAt: number; readonly counts: readonly bigint[] }
  readonly change: (account: Account) => Account
}
