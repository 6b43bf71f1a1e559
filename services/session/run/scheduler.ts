import type { Clock } from '#shared/clock.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { AcquiredLease } from '../ports/lease.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { pause } from './pause.ts'
import type { SessionWatchers } from './session-watchers.ts'
import type { Slot, Slots } from './slots.ts'
import { Tenure } from './tenure.ts'

export interface SchedulerOptions {
  readonly store: SessionStore
  readonly watchers: SessionWatchers
  readonly clock: Clock
  readonly logger: Logger
  /** The name of this process in leases; for people. */
  readonly owner: string
  readonly leaseMs: number
  /**
   * A session is only acquired with a slot for its run, so that sessions that can't run here are left to other
   * processes.
   */
  readonly slots: Slots
  /** How many sessions may be owned at once, including those that wait: each costs memory. */
  readonly maxOwned: number
  /** Likewise per workspace, so that none can keep the others from running. */
  readonly maxOwnedOfOne: number
  /** Milliseconds between two checks for expired leases. */
  readonly pollMs?: number | undefined
  /** Owns one session for one run; never throws. */
  readonly drain: (tenure: Tenure, slot: Slot) => Promise<void>
}

/** The poll interval in milliseconds, since nobody is notified when a lease expires. */
const POLL_MS = 1_000
const DRAIN_LOOK_MS = 20

/**
 * Acquires sessions that have work, each with a slot, and drains them. Disposal acquires no more, stops all runs so
 * that another owner can continue them, and waits for that.
 */
export class Scheduler implements AsyncDisposable {
  readonly #options: SchedulerOptions
  readonly #running = new Map<Tenure, { readonly slot: Slot; readonly drained: Promise<void> }>()
  readonly #source: Disposable
  readonly #poll: NodeJS.Timeout
  #acquiring: Promise<void> | undefined
  #again = false
  readonly #closing = new AbortController()

  constructor(options: SchedulerOptions) {
    this.#options = options
    this.#source = options.store.onChange(({ kinds }) => {
      if (kinds.includes('work')) this.#wake()
    })
    this.#poll = setInterval(() => this.#wake(), options.pollMs ?? POLL_MS)
    this.#wake()
  }

  /**
   * Acquires no more sessions, and lets runs continue for at most this many milliseconds while any of them is doing
   * more than waiting.
   */
  async drain(ms: number): Promise<void> {
    this.#close()
    const late = AbortSignal.timeout(ms)
    await this.#acquiring
    while ([...this.#running.values()].some(({ slot }) => slot.busy) && !late.aborted) {
      await pause(DRAIN_LOOK_MS, late).catch(() => {})
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close()
    for (const tenure of this.#running.keys()) tenure.stop('shutdown')
    await this.#acquiring
    await Promise.all([...this.#running.values()].map(({ drained }) => drained))
  }

  #close(): void {
    this.#closing.abort()
    clearInterval(this.#poll)
    this.#source[Symbol.dispose]()
  }

  #wake(): void {
    this.#again = true
    // The request whose write woke us is unrelated to the sessions that are found.
    this.#acquiring ??= detached(() => this.#acquire()).finally(() => {
      this.#acquiring = undefined
      // What was requested after the last look.
      if (this.#again && this.#mayAcquire) this.#wake()
    })
  }

  get #mayAcquire(): boolean {
    return !this.#closing.signal.aborted && this.#running.size < this.#options.maxOwned
  }

  async #acquire(): Promise<void> {
    while (this.#again && this.#mayAcquire) {
      const slot = await this.#options.slots.take(this.#closing.signal).catch(() => undefined)
      if (slot === undefined) return
      this.#again = false
      if (await this.#startNext(slot)) this.#again = true
      else slot[Symbol.dispose]()
    }
  }

  async #startNext(slot: Slot): Promise<boolean> {
    const { store, owner, leaseMs, clock, logger } = this.#options
    try {
      const since = clock.monotonic()
      const lease = await store.acquireLease(owner, leaseMs, this.#fullWorkspaces())
      if (lease !== undefined) this.#start(lease, since, slot)
      return lease !== undefined
    } catch (error) {
      // The poll tries again; that a store is away is reported by its watch.
      if (!isStoreUnavailable(error)) logger.error({ err: error }, 'No lease could be acquired')
      return false
    }
  }

  /** Workspaces that own as many sessions as one may. */
  #fullWorkspaces(): string[] {
    const { maxOwnedOfOne } = this.#options
    if (this.#running.size < maxOwnedOfOne) return []
    const owned = Map.groupBy(this.#running.keys(), ({ lease }) => lease.workspace)
    return [...owned].filter(([, tenures]) => tenures.length >= maxOwnedOfOne).map(([workspace]) => workspace)
  }

  #start(lease: AcquiredLease, since: number, slot: Slot): void {
    const tenure = new Tenure(lease, since, this.#options)
    if (this.#closing.signal.aborted) tenure.stop('shutdown')
    const drained = this.#options.drain(tenure, slot).finally(() => {
      tenure[Symbol.dispose]()
      slot[Symbol.dispose]()
      this.#running.delete(tenure)
      this.#wake()
    })
    this.#running.set(tenure, { slot, drained })
  }
}
