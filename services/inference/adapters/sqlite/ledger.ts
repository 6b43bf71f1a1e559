import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import type { Activity, GenerationRecord } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Account } from '#services/inference/domain/ledger/account.ts'
import type { Admission, MaxCost } from '#services/inference/domain/ledger/admission.ts'
import type {
  ActivityQuery,
  Ledger,
  LedgerClosing,
  LedgerOpening,
  LedgerProgress,
} from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { StoreThreadEnded } from '#shared/stores/disk-problem.ts'
import { STORE_AGAIN_MS } from '#shared/stores/store-outage.ts'
import { WORKSPACE } from '../tables/accounts.ts'
import { type AbandonedRow, LedgerFile } from './ledger-file.ts'
import { ThreadClient } from './thread-client.ts'
import type { Method } from './thread-messages.ts'

/** More than the number of concurrent requests. */
const MOST_ABANDONED = 10_000

/**
 * The ledger in a SQLite file that this process owns. A thread of its own writes it, so that the event loop never waits
 * for the disk. Calls of one turn are sent together, and calls during a commit are in the next one. When the thread
 * ends, for whatever reason, the next call starts another one; open rows remain open, since their requests continue.
 */
export class SqliteLedger implements Ledger {
  readonly #path: string
  readonly #clock: Clock
  /** Rows that nobody will close. */
  readonly #abandoned = new Map<string, AbandonedRow>()
  #thread: ThreadClient
  #startTime: number
  #isDisposed = false

  private constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    this.#startTime = clock.monotonic()
    this.#thread = new ThreadClient(path)
  }

  /** Opens the file, and settles every open row in it: the process that opened it is gone. */
  static async open(path: string, clock: Clock): Promise<SqliteLedger> {
    {
      // Problems with the file show here, where errors keep their class.
      await using file = new LedgerFile(path)
      await file.settle(clock.now())
    }
    return new SqliteLedger(path, clock)
  }

  probe(): Promise<void> {
    return this.#call('probe')
  }

  async open(opening: LedgerOpening, maxCost: MaxCost, terms: KeyTerms | undefined): Promise<Admission> {
    // What is done now must not be mistaken for something abandoned.
    if (this.#abandoned.has(idOf(opening))) await this.settle()
    return this.#call('open', opening, maxCost, terms, this.#clock.now())
  }

  abandon(workspaceId: string, requestId: string, wasCalled: boolean): void {
    // The first ones were in progress when the thread ended; what comes while there is no thread was not even begun.
    if (this.#abandoned.size >= MOST_ABANDONED) return
    const row = { workspaceId, requestId, wasCalled }
    this.#abandoned.set(idOf(row), row)
  }

  close(closings: readonly LedgerClosing[]): Promise<void> {
    return this.#call('close', closings, this.#clock.now())
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

  get(workspaceId: string, requestId: string): Promise<GenerationRecord | undefined> {
    return this.#call('get', workspaceId, requestId)
  }

  accounts(workspaceId: string, keyIds: readonly string[]): Promise<readonly Account[]> {
    return this.#call('accounts', workspaceId, keyIds)
  }

  async workspaceAccount(workspaceId: string): Promise<Account> {
    const [account] = await this.#call<readonly [Account]>('accounts', workspaceId, [WORKSPACE])
    return account
  }

  activity(query: ActivityQuery): Promise<readonly Activity[]> {
    return this.#call('activity', query)
  }

  /** Commits what was called before, then closes the file; later calls reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true
    await this.#thread.dispose()
  }

  async #call<T>(method: Method, ...args: readonly unknown[]): Promise<T> {
    if (this.#isDisposed) throw new StoreThreadEnded('The ledger is closed')
    return this.#runningThread().call(method, args)
  }

  /** The running thread. A thread that ended before it did anything is replaced only after a second. */
  #runningThread(): ThreadClient {
    const thread = this.#thread
    const now = this.#clock.monotonic()
    if (!thread.isGone || !(thread.hasAnswered || now - this.#startTime >= STORE_AGAIN_MS)) return thread
    this.#startTime = now
    this.#thread = new ThreadClient(this.#path)
    return this.#thread
  }
}

function idOf({ workspaceId, requestId }: Pick<AbandonedRow, 'workspaceId' | 'requestId'>): string {
  return `${workspaceId} ${requestId}`
}
