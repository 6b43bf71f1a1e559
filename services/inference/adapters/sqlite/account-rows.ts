import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** Owner of the account of a whole workspace; no key has that id. */
export const WORKSPACE = '*'

const GET = 'SELECT * FROM accounts WHERE workspace = ? AND owner = ?'
const PUT = 'INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

/** The account of a key, or of the workspace. */
export function readAccount(file: SqliteFile, workspace: string, owner: string): Account {
  const statement = file.statement(GET)
  statement.setReadBigInts(true)
  const row = statement.get(workspace, owner) as Record<string, bigint> | undefined
  if (row === undefined) return EMPTY_ACCOUNT
  const nanos = (name: string): bigint => row[name] as bigint
  return {
    totalNanos: nanos('total_nanos'),
    day: Number(row.day),
    dayNanos: nanos('day_nanos'),
    weekNanos: nanos('week_nanos'),
    monthNanos: nanos('month_nanos'),
    minute: Number(row.minute),
    minuteRequests: Number(row.minute_requests),
    minuteTokens: nanos('minute_tokens'),
    heldNanos: nanos('held_nanos'),
    heldRequests: Number(row.held_requests),
  }
}

/** Writes an account, within a transaction. */
export function writeAccount(file: SqliteFile, workspace: string, owner: string, account: Account): void {
  const { totalNanos, day, dayNanos, weekNanos, monthNanos } = account
  const { minute, minuteRequests, minuteTokens, heldNanos, heldRequests } = account
  const spent = [totalNanos, day, dayNanos, weekNanos, monthNanos]
  const present = [minute, minuteRequests, minuteTokens, heldNanos, heldRequests]
  file.statement(PUT).run(workspace, owner, ...spent, ...present)
}

/** Accounts that several rows change in one transaction: each is read and written once. */
export class AccountChanges {
  readonly #file: SqliteFile
  readonly #changed = new Map<string, { readonly workspace: string; readonly owner: string; account: Account }>()

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** Changes the account of a key, and that of its workspace. */
  change(workspace: string, keyId: string, change: (account: Account) => Account): void {
    for (const owner of [keyId, WORKSPACE]) {
      const name = `${workspace} ${owner}`
      const known = this.#changed.get(name)
      const account = change(known?.account ?? readAccount(this.#file, workspace, owner))
      if (known === undefined) this.#changed.set(name, { workspace, owner, account })
      else known.account = account
    }
  }

  write(): void {
    for (const { workspace, owner, account } of this.#changed.values()) {
      writeAccount(this.#file, workspace, owner, account)
    }
  }
}
