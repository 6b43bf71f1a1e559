import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Account } from '#services/inference/domain/ledger/account.ts'
import type { Admission, Demand } from '#services/inference/domain/ledger/admission.ts'
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
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { WORKSPACE } from './account-rows.ts'
import { LedgerFile } from './ledger-file.ts'
import { toCloseCall, toOpenCall } from './ledger-rows.ts'
import { fromSentError, type Method, type ThreadAnswer, type ThreadCall } from './thread-messages.ts'

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/**
 * The ledger in a SQLite file that this process owns. A thread of its own writes it, so that the event loop never waits for the disk;
 * what is called in one turn goes there together, and what comes while a commit runs is in the next one.
 */
export class SqliteLedger implements Ledger {
  readonly #clock: Clock
  readonly #thread: Worker
  readonly #waiting = new Map<number, Waiting>()
  #calls: ThreadCall[] = []
  #last = 0
  #ended: Error | undefined

  private constructor(path: string, clock: Clock) {
    this.#clock = clock
    this.#thread = new Worker(new URL('./ledger-thread.ts', import.meta.url), { workerData: { path }, name: 'ledger' })
    this.#thread.on('message', (answers: readonly ThreadAnswer[]) => {
      for (const answer of answers) this.#settle(answer)
    })
    this.#thread.on('error', (cause) => this.#end(cause))
    this.#thread.on('exit', () => this.#end(undefined))
  }

  /** Opens the file, and settles every row that is open in it: whoever opened it is gone. */
  static async open(path: string, clock: Clock): Promise<SqliteLedger> {
    // What is wrong with the file is found here, where errors keep their class.
    const file = new LedgerFile(path)
    await file.settle(clock.now())
    await file[Symbol.asyncDispose]()
    return new SqliteLedger(path, clock)
  }

  probe(): Promise<void> {
    return this.#call('probe')
  }

  open(opening: LedgerOpening, demand: Demand, terms: KeyTerms | undefined): Promise<Admission> {
    return this.#call('open', toOpenCall(opening, demand, terms, this.#clock.now()))
  }

  /** What fails here was not done. */
  abandon(): void {}

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

  /** Nobody else writes it either: what a dead process left was settled when the file was opened. */
  async settle(): Promise<void> {}

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
    if (this.#ended !== undefined) return
    const exit = once(this.#thread, 'exit')
    await this.#call('dispose')
    await exit
  }

  #call<T>(method: Method | 'dispose', ...args: readonly unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended
      const id = ++this.#last
      this.#waiting.set(id, { resolve, reject })
      this.#calls.push({ id, method, args })
      if (this.#calls.length > 1) return
      setImmediate(() => {
        this.#thread.postMessage(this.#calls)
        this.#calls = []
      })
    })
  }

  #settle(answer: ThreadAnswer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('error' in answer) waiting?.reject(fromSentError(answer.error))
    else waiting?.resolve(answer.value as never)
  }

  /** The thread is gone, and with it whoever could write the file. */
  #end(cause: Error | undefined): void {
    this.#ended ??= storeUnavailable('The thread of the ledger has ended', { cause, outcomeUnknown: true })
    for (const { reject } of this.#waiting.values()) reject(this.#ended)
    this.#waiting.clear()
  }
}
