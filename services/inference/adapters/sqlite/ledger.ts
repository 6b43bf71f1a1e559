import type { Account } from '#services/inference/domain/ledger/account.ts'
import type { Admission, MaxCost } from '#services/inference/domain/ledger/admission.ts'
import type { KeyTerms } from '#services/inference/domain/ledger/key-terms.ts'
import type {
  ActivityQuery,
  ActivitySum,
  Ledger,
  LedgerClosing,
  LedgerEntry,
  LedgerOpening,
  LedgerProgress,
} from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { StoreThreadEnded } from '#shared/stores/disk-problem.ts'
import { STORE_AGAIN_MS } from '#shared/stores/store-outage.ts'
import { WORKSPACE } from './account-rows.ts'
import { LedgerFile } from './ledger-file.ts'
import { type AbandonedRow, toCloseCall, toOpenCall } from './ledger-rows.ts'
import { ThreadClient } from './thread-client.ts'
import type { Method } from './thread-messages.ts'

/** More than the number of concurrent requests. */
const MOST_ABANDONED = 10_000

/**
 * The ledger in a SQLite file that this process owns. A thread of its own writes it, so that the event loop never waits
 * for the disk. Calls of one turn are sent together, and calls during a commit are in the next one. Starting the thread
 * takes a tenth of a start, so it begins with the first call after the first probe. When it ends, for whatever reason,
 * the next call starts another one; open rows remain open, since their requests continue.
 */
export class SqliteLedger implements Ledger {
  readonly #path: string
  readonly #clock: Clock
  /** Rows that nobody will close. */
  readonly #abandoned = new Map<string, AbandonedRow>()
  /** Has the file open until the thread begins. */
  #opener: LedgerFile | undefined
  #isProbed = false
  #thread: ThreadClient | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #isDisposed = false

  private constructor(path: string, clock: Clock, opener: LedgerFile) {
    this.#path = path
    this.#clock = clock
    this.#opener = opener
  }

  /** Opens the file, and settles every open row in it: the process that opened it is gone. */
  static async open(path: string, clock: Clock): Promise<SqliteLedger> {
    // Problems with the file are found here, where errors keep their class.
    const file = new LedgerFile(path)
    await file.settle(clock.now())
    return new SqliteLedger(path, clock, file)
  }

  /** The first one, which checks at the start whether the file can be written, needs no thread. */
  probe(): Promise<void> {
    if (this.#opener === undefined || this.#isProbed) return this.#call('probe')
    this.#isProbed = true
    return this.#opener.probe()
  }

  async open(opening: LedgerOpening, maxCost: MaxCost, terms: KeyTerms | undefined): Promise<Admission> {
    // What is done now must not be mistaken for something abandoned.
    if (this.#abandoned.has(idOf(opening))) await this.settle()
    return this.#call('open', toOpenCall(opening, maxCost, terms, this.#clock.now()))
  }

  abandon(workspace: string, requestId: string, wasCalled: boolean): void {
    // The first ones were in progress when the thread ended; what comes while there is no thread was not even begun.
    if (this.#abandoned.size >= MOST_ABANDONED) return
    const row = { workspace, requestId, wasCalled }
    this.#abandoned.set(idOf(row), row)
  }

  close(closings: readonly LedgerClosing[]): Promise<void> {
    const now = this.#clock.now()
    const calls = closings.map((closing) => toCloseCall(closing, now))
    return this.#call('close', calls, now)
  }

  note(progress: readonly LedgerProgress[]): Promise<void> {
    return this.#call('note', progress)
  }

  /** Nobody else reads the file. */
  async announce(): Promise<void> {}

  async awaitAnnounced(): Promise<void> {}

  /** Nobody else writes the file, and what a dead process left was settled when it was opened. */
  async settle(): Promise<void> {
    if (this.#abandoned.size === 0) return
    const rows = [...this.#abandoned]
    await this.#call(
      'settleAbandoned',
      rows.map(([, row]) => row),
      this.#clock.now(),
    )
    for (const [id, row] of rows) if (this.#abandoned.get(id) === row) this.#abandoned.delete(id)
  }

  get(workspace: string, requestId: string): Promise<LedgerEntry | undefined> {
    return this.#call('get', workspace, requestId)
  }

  accounts(workspace: string, keyIds: readonly string[]): Promise<readonly Account[]> {
    return this.#call('accounts', workspace, keyIds)
  }

  async workspaceAccount(workspace: string): Promise<Account> {
    const [account] = await this.#call<readonly [Account]>('accounts', workspace, [WORKSPACE])
    return account
  }

  activity(query: ActivityQuery): Promise<readonly ActivitySum[]> {
    return this.#call('activity', query)
  }

  /** Commits what was called before, then closes the file; later calls reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true
    await this.#opener?.[Symbol.asyncDispose]()
    await this.#thread?.dispose()
  }

  async #call<T>(method: Method, ...args: readonly unknown[]): Promise<T> {
    if (this.#isDisposed) throw new StoreThreadEnded('The ledger is closed')
    return this.#runningThread().call(method, args)
  }

  /** The running thread. A thread that ended before it did anything is replaced only after a second. */
  #runningThread(): ThreadClient {
    const thread = this.#thread
    const now = this.#clock.monotonic()
    if (thread !== undefined && !(thread.isGone && (thread.hasAnswered || now - this.#startedAt >= STORE_AGAIN_MS))) {
      return thread
    }
    // The file is closed when this returns.
    void this.#opener?.[Symbol.asyncDispose]()
    this.#opener = undefined
    this.#startedAt = now
    this.#thread = new ThreadClient(this.#path)
    return this.#thread
  }
}

function idOf({ workspace, requestId }: Pick<AbandonedRow, 'workspace' | 'requestId'>): string {
  return `${workspace} ${requestId}`
}
