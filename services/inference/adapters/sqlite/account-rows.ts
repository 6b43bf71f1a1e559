import { type Account, EMPTY_ACCOUNT } from '#services/inference/domain/ledger/account.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** Owner of the account of a whole workspace; no key has that id. */
export const WORKSPACE = '*'

const GET = 'SELECT * FROM accounts WHERE workspace = ? AND owner = ?'
const PUT = 'INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

/** How many accounts are cached between transactions. */
const MOST = 10_000

interface Known {
  readonly workspace: string
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
  readonly #known = new Map<string, Known>()
  #changed: Known[] = []

  constructor(file: () => SqliteFile) {
    this.#file = file
  }

  /** Accounts for callers that change none of them. */
  look(workspace: string, owners: readonly string[]): readonly Account[] {
    return owners.map((owner) => this.#known.get(nameOf(workspace, owner))?.account ?? this.#read(workspace, owner))
  }

  /** Reads what a job will change. */
  read(workspace: string, owners: readonly string[]): void {
    for (const owner of owners) this.#knownOf(workspace, owner)
  }

  /** The account of a key, or of the workspace, within a transaction; it stays cached at least until its end. */
  get(workspace: string, owner: string): Account {
    return this.#knownOf(workspace, owner).account
  }

  /**
   * Must be called last by a job within a transaction, after reading everything that it changes: then nothing can fail
   * here, and a job that throws has changed nothing.
   */
  set(workspace: string, owner: string, account: Account): void {
    const known = this.#knownOf(workspace, owner)
    known.account = account
    if (known.isNew) return
    known.isNew = true
    this.#changed.push(known)
  }

  /** Writes the changes. */
  write(): void {
    if (this.#changed.length > 0) this.#writeChanged()
    if (this.#known.size >= MOST) this.#known.clear()
  }

  /** A transaction was rolled back: what is stored applies again. */
  forget(): void {
    this.#known.clear()
    this.#changed = []
  }

  #writeChanged(): void {
    const put = this.#file().statement(PUT)
    for (const known of this.#changed) {
      const { totalNanos, day, dayNanos, weekNanos, monthNanos } = known.account
      const { minute, minuteRequests, minuteTokens, heldNanos, heldRequests } = known.account
      const spent = [totalNanos, day, dayNanos, weekNanos, monthNanos]
      const present = [minute, minuteRequests, minuteTokens, heldNanos, heldRequests]
      put.run(known.workspace, known.owner, ...spent, ...present)
      known.isNew = false
    }
    this.#changed = []
  }

  #knownOf(workspace: string, owner: string): Known {
    const name = nameOf(workspace, owner)
    let known = this.#known.get(name)
    if (known === undefined) {
      known = { workspace, owner, account: this.#read(workspace, owner), isNew: false }
      this.#known.set(name, known)
    }
    return known
  }

  #read(workspace: string, owner: string): Account {
    const statement = this.#file().statement(GET)
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
}

function nameOf(workspace: string, owner: string): string {
  return `${workspace} ${owner}`
}
