import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/logging.ts'
import { detached } from '#shared/tracing.ts'
import type { AcquiredLease, SessionStore } from '../ports.ts'
import type { SessionWatchers } from './session-watchers.ts'
import { Tenure } from './tenure.ts'

export interface SchedulerOptions {
  readonly store: SessionStore
  readonly watchers: SessionWatchers
  readonly clock: Clock
  readonly logger: Logger
  /** Names this process in the leases; for people. */
  readonly owner: string
  readonly leaseMs: number
  /** Most sessions that are drained at once. */
  readonly maxDrains: number
  /** Owns one session until nothing is left to do; never throws. */
  readonly drain: (tenure: Tenure) => Promise<void>
}

/** Leases run out without anybody being told. */
const POLL_MS = 1_000

/**
 * Takes sessions that have work, as many at once as allowed, and has them drained. Disposal takes no more, stops what
 * runs so that another owner can go on with it, and waits for that.
 */
export class Scheduler implements AsyncDisposable {
  readonly #options: SchedulerOptions
  readonly #running = new Map<Tenure, Promise<void>>()
  readonly #source: Disposable
  readonly #poll: NodeJS.Timeout
  #acquiring: Promise<void> | undefined
  #again = false
  #closing = false

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#source = options.store.onChange(() => this.#wake())
    this.#poll = setInterval(() => this.#wake(), POLL_MS)
    this.#wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true
    clearInterval(this.#poll)
    this.#source[Symbol.dispose]()
    for (const tenure of this.#running.keys()) tenure.stop('shutdown')
    await this.#acquiring
    await Promise.all(this.#running.values())
  }

  #wake(): void {
    this.#again = true
    // Whose write woke us has nothing to do with what is found.
    this.#acquiring ??= detached(() => this.#acquire()).finally(() => {
      this.#acquiring = undefined
      // What was asked for after the last look.
      if (this.#again && this.#mayAcquire) this.#wake()
    })
  }

  get #mayAcquire(): boolean {
    return !this.#closing && this.#running.size < this.#options.maxDrains
  }

  async #acquire(): Promise<void> {
    const { store, owner, leaseMs, clock, logger } = this.#options
    while (this.#again && this.#mayAcquire) {
      this.#again = false
      try {
        const since = clock.monotonic()
        const lease = await store.acquireLease(owner, leaseMs)
        if (lease === undefined) continue
        this.#again = true
        this.#start(lease, since)
      } catch (error) {
        // The poll tries again.
        logger.error({ err: error }, 'No lease could be taken')
      }
    }
  }

  #start(lease: AcquiredLease, since: number): void {
    const tenure = new Tenure(lease, since, this.#options)
    if (this.#closing) tenure.stop('shutdown')
    const drained = this.#options.drain(tenure).finally(() => {
      tenure[Symbol.dispose]()
      this.#running.delete(tenure)
      this.#wake()
    })
    this.#running.set(tenure, drained)
  }
}
