import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, selectOne } from '#shared/stores/sqlite-table.ts'
import { accountColumns, accounts } from '../tables/accounts.ts'

const putAccounts = insertInto(accounts, { or: 'REPLACE' })

/** How many accounts are cached between transactions. */
const MOST = 10_000

interface Entry {
  readonly workspaceId: string
  readonly owner: string
  account: Account
  /** It is not stored yet. */
  isNew: boolean
}

/**
 * The accounts in a file that nobody else writes: each is read once, and the changes of a transaction's jobs are
 * written once, before its commit.
 */
export class AccountRows {
  readonly #file: () => SqliteFile
  readonly #entries = new Map<string, Entry>()
  #changed: Entry[] = []

  constructor(file: () => SqliteFile) {
    this.#file = file
  }

  /** Accounts for callers that change none of them. */
  look(workspaceId: string, owners: readonly string[]): readonly Account[] {
    return owners.map((owner) => {
      return this.#entries.get(nameOf(workspaceId, owner))?.account ?? this.#read(workspaceId, owner)
    })
  }

  /** Reads what a job will change. */
  read(workspaceId: string, owners: readonly string[]): void {
    for (const owner of owners) this.#entry(workspaceId, owner)
  }

  /** The account of a key, or of the workspace, within a transaction; it stays cached at least until its end. */
  get(workspaceId: string, owner: string): Account {
    return this.#entry(workspaceId, owner).account
  }

  /**
   * Must be called last by a job within a transaction, after reading everything that it changes: then nothing can fail
   * here, and a job that throws has changed nothing.
   */
  set(workspaceId: string, owner: string, account: Account): void {
    const entry = this.#entry(workspaceId, owner)
    entry.account = account
    if (entry.isNew) return
    entry.isNew = true
    this.#changed.push(entry)
  }

  write(): void {
    const rows = this.#changed.map(({ workspaceId, owner, account }) => ({ workspaceId, owner, ...account }))
    putAccounts(this.#file(), rows)
    for (const entry of this.#changed) entry.isNew = false
    this.#changed = []
    if (this.#entries.size >= MOST) this.#entries.clear()
  }

  /** A transaction was rolled back: what is stored applies again. */
  forget(): void {
    this.#entries.clear()
    this.#changed = []
  }

  #entry(workspaceId: string, owner: string): Entry {
    const name = nameOf(workspaceId, owner)
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      entry = { workspaceId, owner, account: this.#read(workspaceId, owner), isNew: false }
      this.#entries.set(name, entry)
    }
    return entry
  }

  #read(workspaceId: string, owner: string): Account {
    const where = 'FROM accounts WHERE workspaceId = ? AND owner = ?'
    return selectOne(this.#file(), accountColumns, where, workspaceId, owner) ?? EMPTY_ACCOUNT
  }
}

function nameOf(workspaceId: string, owner: string): string {
  return `${workspaceId} ${owner}`
}
