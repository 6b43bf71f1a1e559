import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import {
  type Activity,
  type GenerationRecord,
  GenerationRecord_Status as Status,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import { type Account, correcting, holding, settling } from '#services/inference/domain/ledger/account.ts'
import { type Admission, admit, type MaxCost } from '#services/inference/domain/ledger/admission.ts'
import {
  type ActivityQuery,
  type LedgerClosing,
  type LedgerOpening,
  type LedgerProgress,
  PROCESS_LOST,
} from '#services/inference/ports/ledger.ts'
import { Rejection } from '#shared/rejection.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectAll, selectOne, updateRows } from '#shared/stores/sqlite-table.ts'
import type { RowOf } from '#shared/stores/table.ts'
import { SQLITE } from '../schema.ts'
import { WORKSPACE } from '../tables/accounts.ts'
import {
  type ClosedRow,
  closedRow,
  ledger,
  lostClosing,
  openRow,
  rowColumns,
  spentOf,
  toRecord,
} from '../tables/ledger.ts'
import { AccountRows } from './account-rows.ts'
import { sumByMetadata } from './activity-rows.ts'
import { DailySums } from './daily-sums.ts'

const insertRows = insertInto(ledger)
const OWN = 'WHERE workspaceId = ? AND requestId = ?'
const OPEN = `status = ${Status.OPEN}`

type Row = RowOf<typeof rowColumns>

export interface AbandonedRow {
  readonly workspaceId: string
  readonly requestId: string
  /** Its provider may have been called. */
  readonly wasCalled: boolean
}

/** The file of the ledger, used by the thread that owns it. Concurrent calls are written in one commit. */
export class LedgerFile {
  readonly #file: SqliteFile
  readonly #accounts = new AccountRows(() => this.#file)
  readonly #sums = new DailySums(() => this.#file)
  #summing: Promise<unknown> = Promise.resolve()

  constructor(path: string) {
    const beforeCommit = (): void => this.#beforeCommit()
    const undone = (): void => this.#undone()
    this.#file = new SqliteFile(path, { schema: SQLITE, exclusive: true, beforeCommit, undone })
  }

  probe(): Promise<void> {
    return this.#file.probe()
  }

  open(opening: LedgerOpening, maxCost: MaxCost, terms: KeyTerms | undefined, now: number): Promise<Admission> {
    const { workspaceId, requestId, apiKeyId, metadata } = opening
    return this.#file.write(() => {
      const key = this.#accounts.get(workspaceId, apiKeyId)
      const workspace = this.#accounts.get(workspaceId, WORKSPACE)
      const admission = admit({ key, workspace }, maxCost, terms, now)
      if (!admission.admitted) return admission
      if (this.#row(workspaceId, requestId) !== undefined) {
        throw new Rejection('REQUEST_DUPLICATE', { request_id: requestId })
      }
      const { hold } = admission
      const holdMembers = { heldNanos: hold.nanos, heldMinute: hold.minute }
      const row = { ...openRow(opening, maxCost, now), metadata: JSON.stringify(metadata), ...holdMembers }
      insertRows(this.#file, [row])
      this.#accounts.set(workspaceId, apiKeyId, holding(key, hold, now))
      this.#accounts.set(workspaceId, WORKSPACE, holding(workspace, hold, now))
      return admission
    })
  }

  close(closings: readonly LedgerClosing[], now: number): Promise<void> {
    return this.#file.write(() => this.#close(closings, now))
  }

  note(progress: readonly LedgerProgress[]): Promise<void> {
    return this.#file.write(() => {
      for (const { workspaceId, requestId, outputTokens: notedTokens } of progress) {
        updateRows(this.#file, ledger, { notedTokens }, `${OWN} AND ${OPEN}`, workspaceId, requestId)
      }
    })
  }

  /** Settles every open row: the process that opened it is gone. */
  settle(now: number): Promise<void> {
    return this.#file.write(() => {
      const rows = selectAll(this.#file, rowColumns, `FROM ledger WHERE ${OPEN}`)
      this.#close(
        rows.map((row) => lostClosing(row, true)),
        now,
      )
    })
  }

  /** Settles those of the rows that are open. */
  settleAbandoned(abandoned: readonly AbandonedRow[], now: number): Promise<void> {
    return this.#file.write(() => {
      const closings = abandoned.flatMap(({ workspaceId, requestId, wasCalled }) => {
        const row = this.#row(workspaceId, requestId)
        return row?.status === Status.OPEN ? [lostClosing(row, wasCalled)] : []
      })
      this.#close(closings, now)
    })
  }

  async get(workspaceId: string, requestId: string): Promise<GenerationRecord | undefined> {
    const row = this.#row(workspaceId, requestId)
    return row && toRecord(row, rowColumns.metadata.decode(row.metadata))
  }

  async accounts(workspaceId: string, owners: readonly string[]): Promise<readonly Account[]> {
    return this.#accounts.look(workspaceId, owners)
  }

  async activity(query: ActivityQuery): Promise<readonly Activity[]> {
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

  #row(workspaceId: string, requestId: string): Row | undefined {
    return selectOne(this.#file, rowColumns, `FROM ledger ${OWN}`, workspaceId, requestId)
  }

  #close(closings: readonly LedgerClosing[], now: number): void {
    const changes = closings.flatMap((closing): Close[] => {
      const { workspaceId, requestId } = closing
      const row = this.#row(workspaceId, requestId)
      // A row that was mistaken for lost is corrected.
      if (row === undefined || (row.status !== Status.OPEN && row.error !== PROCESS_LOST)) return []
      const closed = closedRow(closing, now)
      updateRows(this.#file, ledger, closed, OWN, workspaceId, requestId)
      return [{ row, closed }]
    })
    // Everything that can fail comes before the first change.
    for (const { row } of changes) this.#accounts.read(row.workspaceId, [row.apiKeyId, WORKSPACE])
    for (const { row, closed } of changes) {
      const isCorrection = row.status !== Status.OPEN
      if (isCorrection) this.#sums.add(row, row, -1)
      this.#sums.add(row, closed)
      const hold = { nanos: row.heldNanos, inputTokens: row.inputEstimate, minute: row.heldMinute }
      for (const owner of [row.apiKeyId, WORKSPACE]) {
        const account = this.#accounts.get(row.workspaceId, owner)
        const after = isCorrection
          ? correcting(account, spentOf(row), spentOf(closed), now)
          : settling(account, hold, spentOf(closed), now)
        this.#accounts.set(row.workspaceId, owner, after)
      }
    }
  }
}

interface Close {
  readonly row: Row
  readonly closed: ClosedRow
}
