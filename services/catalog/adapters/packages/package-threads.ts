import { Worker } from 'node:worker_threads'
import { PackageError } from '#services/catalog/domain/package-specifier.ts'
import { orAborted } from '#shared/or-aborted.ts'
import { codeOf } from '../files/paths.ts'
import type { PackageAnswer, PackageJob } from './package-job.ts'

const MAX_THREADS = 4
const IDLE_MS = 2_000
const MAX_HEAP_MB = 512

/** Never aborts. */
const NEVER = new AbortController().signal

/**
 * Threads that run npm's libraries, which are loaded nowhere else. So they delay nobody, take memory only while they
 * work, and can be ended at once. A thread does one job after the other; at most four work, and a thread that was idle
 * for 2 s ends.
 */
export class PackageThreads implements AsyncDisposable {
  readonly #idle = new Map<Worker, NodeJS.Timeout>()
  readonly #all = new Set<Worker>()
  readonly #waiting = new Set<() => void>()
  #closing = false

  /**
   * Runs a job, within a time in milliseconds from its beginning. Throws PackageError, or the signal's reason, after
   * which its thread has ended.
   */
  async work(job: PackageJob, limitMs: number, signal = NEVER): Promise<Exclude<PackageAnswer, { type: 'failed' }>> {
    const worker = await this.#take(signal)
    try {
      const answer = await orAborted(runJob(worker, job, limitMs), signal)
      // A failed job may still have begun to fetch and to write.
      if (answer.type === 'failed') throw new PackageError(answer.problem)
      this.#giveBack(worker)
      return answer
    } catch (error) {
      await this.#end(worker)
      throw error
    }
  }

  /** Ends all threads; whoever waits for a job gets an error. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true
    this.#wakeAll()
    await Promise.all([...this.#all].map((worker) => this.#end(worker)))
  }

  async #take(signal: AbortSignal): Promise<Worker> {
    while (!this.#closing) {
      const [idle] = this.#idle.keys()
      if (idle !== undefined) {
        clearTimeout(this.#idle.get(idle))
        this.#idle.delete(idle)
        idle.ref()
        return idle
      }
      if (this.#all.size < MAX_THREADS) return this.#start()
      await this.#turn(signal)
    }
    throw new PackageError('the server is stopping')
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    try {
      await orAborted(promise, signal)
    } finally {
      this.#waiting.delete(resolve)
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./package-thread.ts', import.meta.url), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    })
    this.#all.add(worker)
    // An error that comes while nobody waits must not end the process.
    worker.on('error', () => {})
    worker.once('exit', () => {
      clearTimeout(this.#idle.get(worker))
      this.#idle.delete(worker)
      this.#all.delete(worker)
      this.#wakeAll()
    })
    return worker
  }

  #giveBack(worker: Worker): void {
    worker.unref()
    this.#idle.set(
      worker,
      setTimeout(() => void this.#end(worker), IDLE_MS),
    )
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const go of this.#waiting) go()
  }

  async #end(worker: Worker): Promise<void> {
    clearTimeout(this.#idle.get(worker))
    this.#idle.delete(worker)
    await worker.terminate()
  }
}

function runJob(worker: Worker, job: PackageJob, limitMs: number): Promise<PackageAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      act()
    }
    const onMessage = (answer: PackageAnswer): void => settle(() => resolve(answer))
    const onError = (error: unknown): void => {
      const problem =
        codeOf(error) === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it took too much memory' : `the thread failed: ${error}`
      settle(() => reject(new PackageError(problem)))
    }
    const onExit = (): void => settle(() => reject(new PackageError('the server is stopping')))
    const onLate = (): void => settle(() => reject(new PackageError(`it took longer than ${limitMs / 1_000} s`)))
    const timer = setTimeout(onLate, limitMs)
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage(job)
  })
}
