import { Worker } from 'node:worker_threads'
import { systemClock } from '#shared/clock.ts'
import { StoreThreadEnded } from '#shared/stores/disk-problem.ts'
import { Late } from '#shared/stores/store-watch.ts'
import { fromSentError, type Method, type ThreadAnswer, type ThreadCall } from './thread-messages.ts'

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  /** When it fails if there is no answer, by the monotonic clock. */
  until: number
}

/** How long a call waits for a disk that hangs, in milliseconds. */
const PATIENCE_MS = 4_000
/** The same for calls that also wait for the thread to start. */
const STARTING_MS = 20_000
/** Sums of many rows take as long as they take, and so does what was called before the end. */
const UNLIMITED: ReadonlySet<Method | 'dispose'> = new Set(['activity', 'dispose'] as const)

/** Almost nothing that it allocates outlives a commit, so more room would only hold more garbage. */
const LIMITS = { maxYoungGenerationSizeMb: 6 }

/** The thread that owns the file of the ledger, from its start to its end. Calls of one turn are sent together. */
export class ThreadClient {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #calls: ThreadCall[] = []
  #ended: StoreThreadEnded | undefined
  readonly #exit = Promise.withResolvers<void>()
  #watchdog: NodeJS.Timeout | undefined
  #isHung = false
  #isGone = false
  #hasAnswered = false

  /** Throws StoreThreadEnded if the system cannot start one. */
  constructor(path: string) {
    try {
      const code = new URL('./ledger-thread.ts', import.meta.url)
      this.#worker = new Worker(code, { workerData: { path }, name: 'ledger', resourceLimits: LIMITS })
    } catch (cause) {
      throw new StoreThreadEnded(`The thread of the ledger cannot be started: ${cause}`, { cause })
    }
    this.#worker.on('message', (answers: readonly ThreadAnswer[]) => {
      for (const answer of answers) this.#settle(answer)
    })
    this.#worker.on('error', (cause) => this.#end(cause))
    this.#worker.on('exit', () => {
      this.#end(undefined)
      this.#isGone = true
      this.#exit.resolve()
    })
  }

  /** It has ended, and the file is closed. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** It has done something, so the cause of its end does not prevent every start. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** Rejects with StoreThreadEnded once the thread has ended, and with Late if the disk hangs. */
  call<T>(method: Method | 'dispose', args: readonly unknown[]): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#ended !== undefined) throw this.#ended
      if (this.#isHung) throw new Late('the disk hangs')
      const patience = this.#hasAnswered ? PATIENCE_MS : STARTING_MS
      const until = UNLIMITED.has(method) ? Number.POSITIVE_INFINITY : systemClock.monotonic() + patience
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject, until })
      this.#watch(PATIENCE_MS)
      this.#calls.push({ id, method, args })
      if (this.#calls.length > 1) return
      setImmediate(() => {
        this.#worker.postMessage(this.#calls)
        this.#calls = []
      })
    })
  }

  /** Lets it finish what was called before and close the file. */
  async dispose(): Promise<void> {
    if (this.#ended !== undefined) return
    await this.call('dispose', [])
    await this.#exit.promise
  }

  /** One timer for all calls. Answers that came while the event loop was busy are read before anything is late. */
  #watch(ms: number): void {
    this.#watchdog ??= setTimeout(() => setImmediate(() => this.#rejectLate()), ms).unref()
  }

  #rejectLate(): void {
    this.#watchdog = undefined
    const now = systemClock.monotonic()
    let next = Number.POSITIVE_INFINITY
    for (const waiting of this.#waiting.values()) {
      if (waiting.until <= now) {
        this.#isHung = true
        waiting.until = Number.POSITIVE_INFINITY
        waiting.reject(new Late('the disk hangs'))
      } else next = Math.min(next, waiting.until)
    }
    if (next < Number.POSITIVE_INFINITY) this.#watch(Math.min(next - now, PATIENCE_MS))
  }

  #settle(answer: ThreadAnswer): void {
    this.#hasAnswered = true
    this.#isHung = false
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('error' in answer) waiting?.reject(fromSentError(answer.error))
    else waiting?.resolve(answer.value as never)
  }

  #end(cause: Error | undefined): void {
    const why = cause === undefined ? '' : `: ${cause.message}`
    this.#ended ??= new StoreThreadEnded(`The thread of the ledger has ended${why}`, { cause })
    for (const { reject } of this.#waiting.values()) reject(this.#ended)
  }
}
