import { Worker } from 'node:worker_threads'
import { Places } from '#shared/places.ts'
import { codeOf } from '../files/paths.ts'
import { type Match, type SearchAnswer, type SearchRequest, searchTexts } from './grep-worker.ts'
import { ToolError } from './tool.ts'

/** How many bytes of text a thread can get at once. */
export const SEARCH_BYTES = 4 << 20

const MAX_THREADS = 8
const IDLE_MS = 2_000
const OUT_OF_MEMORY = 'The search took too much memory'
const FAILED = 'The thread that searched has failed'

/**
 * Threads that search texts for lines that match a regular expression, so that a pattern that takes for ever blocks
 * nobody, and ends with its thread. A thread serves one search after the other, since most of the memory of one that
 * ends is not returned. At most eight search at once, and a thread that was idle for 2 s ends. Idle threads keep no
 * process alive.
 */
export class SearchThreads implements AsyncDisposable {
  readonly #places = new Places(MAX_THREADS)
  readonly #idle: SearchThread[] = []
  readonly #all = new Set<SearchThread>()

  /**
   * Takes a thread for one search, which is given back by disposing it; waits while all are busy. Throws the signal's
   * reason.
   */
  async take(signal: AbortSignal): Promise<SearchThread> {
    const place = await this.#places.take(signal)
    try {
      return (this.#idle.pop() ?? this.#start()).begin(place)
    } catch (error) {
      place[Symbol.dispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all].map((thread) => thread.end()))
  }

  #start(): SearchThread {
    const thread: SearchThread = SearchThread.start({
      idle: () => void this.#idle.push(thread),
      leaving: () => {
        const index = this.#idle.indexOf(thread)
        if (index >= 0) this.#idle.splice(index, 1)
      },
      gone: () => void this.#all.delete(thread),
    })
    this.#all.add(thread)
    return thread
  }
}

interface Owner {
  /** It may be taken again. */
  idle(): void
  /** It is about to end, and must not be taken any more. */
  leaving(): void
  /** It does not exist any more. */
  gone(): void
}

/** A thread, and the memory that holds texts for it. */
export class SearchThread implements AsyncDisposable {
  /** Where the texts of the next request are put. */
  readonly memory: Buffer
  readonly #owner: Owner
  readonly #worker: Worker
  #place: Disposable | undefined
  #timer: NodeJS.Timeout | undefined
  #usable = true
  #failure = FAILED

  private constructor(owner: Owner) {
    this.#owner = owner
    const shared = new SharedArrayBuffer(SEARCH_BYTES)
    this.memory = Buffer.from(shared)
    this.#worker = new Worker(`(${searchTexts})()`, {
      eval: true,
      workerData: shared,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 },
    })
    // An error that comes while nobody waits must not end the process.
    this.#worker.on('error', (error) => {
      this.#failure =
        codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? OUT_OF_MEMORY : `${FAILED}: ${codeOf(error) ?? error}`
      this.#leave()
    })
    this.#worker.once('exit', () => {
      this.#leave()
      this.#owner.gone()
      this.#giveBackPlace()
    })
  }

  /** Starts one. Throws ToolError if the system cannot. */
  static start(owner: Owner): SearchThread {
    try {
      return new SearchThread(owner)
    } catch (error) {
      throw new ToolError('search_failed', `The system cannot start a thread now: ${codeOf(error) ?? error}`)
    }
  }

  /** It is taken; the place is given back with it. */
  begin(place: Disposable): this {
    this.#place = place
    clearTimeout(this.#timer)
    this.#worker.ref()
    return this
  }

  /**
   * Searches the texts of a request, and reports what it finds in each immediately. One request at a time. Throws the
   * signal's reason if it aborts, and ToolError if the thread fails, for example because of a lack of memory; then the
   * thread has ended.
   */
  search(request: SearchRequest, signal: AbortSignal, onMatches: (matches: readonly Match[]) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker
      const settle = (act: () => void): void => {
        worker.off('message', onMessage).off('exit', onExit)
        signal.removeEventListener('abort', onAbort)
        act()
      }
      const onMessage = (answer: SearchAnswer): void => (answer === 'done' ? settle(resolve) : onMatches(answer))
      const onExit = (): void => settle(() => reject(new ToolError('search_failed', this.#failure)))
      const onAbort = (): void => {
        this.#usable = false
        settle(() => reject(signal.reason))
      }
      if (signal.aborted) return onAbort()
      if (!this.#usable) return onExit()
      signal.addEventListener('abort', onAbort)
      worker.on('message', onMessage).on('exit', onExit)
      worker.postMessage(request)
    })
  }

  /** Gives it back; if it was left in the middle of a search, it is ended first. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#usable) return await this.end()
    this.#worker.unref()
    this.#timer = setTimeout(() => void this.end(), IDLE_MS).unref()
    this.#owner.idle()
    this.#giveBackPlace()
  }

  /** Ends it; resolves when it has ended. */
  async end(): Promise<void> {
    this.#leave()
    clearTimeout(this.#timer)
    await this.#worker.terminate()
  }

  #giveBackPlace(): void {
    const place = this.#place
    this.#place = undefined
    place?.[Symbol.dispose]()
  }

  #leave(): void {
    this.#usable = false
    this.#owner.leaving()
  }
}
