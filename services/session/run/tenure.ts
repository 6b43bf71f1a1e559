import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { AcquiredLease, LeaseState } from '../ports/lease.ts'
import { nothing, type SessionStore } from '../ports/session-store.ts'
import { LeaseTime, type LeaseTimeOptions, type Loss } from './lease-time.ts'
import type { SessionWatchers } from './session-watchers.ts'
import { isLeaseLost, Stopped, type StopReason } from './stopped.ts'

export interface TenureDependencies extends LeaseTimeOptions {
  readonly store: Pick<SessionStore, 'renewLease' | 'inspect'>
  readonly watchers: SessionWatchers
  readonly logger: Logger
}

/** A renewal that fails leaves more than 10 s of a lease of 15: as long as an election of MongoDB may take. */
export const RENEW_SHARE = 1 / 6
/** Milliseconds until a renewal that failed is tried again. */
const AGAIN_MS = 500

/** Which reason outweighs which: the higher one. */
const WEIGHTS: Readonly<Record<StopReason, number>> = { interrupted: 1, shutdown: 2, lost: 3 }

/**
 * The period in which a drain owns its session. Renews the lease after each sixth of its duration, observes interrupt
 * requests, and stops the drain by the monotonic clock before the lease can have expired.
 */
export class Tenure implements Disposable {
  readonly lease: AcquiredLease
  readonly #dependencies: TenureDependencies
  readonly #work = new AbortController()
  readonly #hold = new AbortController()
  readonly #interrupts: Disposable
  readonly #time: LeaseTime
  #reason: StopReason | undefined
  #loss: Loss | undefined
  /** The error of the last renewal, unless the store was unavailable. */
  #failure: unknown
  #renewal: NodeJS.Timeout | undefined
  #looking = false
  #lookAgain = false
  #disposed = false

  /** `since`: monotonic time before the lease was requested. */
  constructor(lease: AcquiredLease, since: number, dependencies: TenureDependencies) {
    this.lease = lease
    this.#dependencies = dependencies
    this.#interrupts = dependencies.watchers.watch(
      lease.workspace,
      lease.sessionId,
      'interrupt',
      () => void detached(() => this.#look()),
    )
    this.#scheduleRenewal(true)
    this.#time = new LeaseTime(since, dependencies)
    this.#time.watch(() => this.stop('lost'))
  }

  /** Aborts, with a Stopped, when the run has to stop for whatever reason. */
  get signal(): AbortSignal {
    return this.#work.signal
  }

  /** Aborts, with a Stopped, when the session must no longer be touched: `lost` or `shutdown`. */
  get holdSignal(): AbortSignal {
    return this.#hold.signal
  }

  /**
   * Why the drain stops; undefined while it continues. A lost lease outweighs everything else, and a shutdown an
   * interrupt, which the next owner observes, too.
   */
  get reason(): StopReason | undefined {
    return this.#reason
  }

  /** How the lease was lost; undefined while it is not. */
  get loss(): Loss | undefined {
    return this.#loss
  }

  /** Throws Stopped when the run has to stop, also when timers are late because the process was paused. */
  check(): void {
    this.checkHeld()
    this.#work.signal.throwIfAborted()
  }

  /** Throws Stopped when the lease is lost. To be called before anything that only the owner may do. */
  checkHeld(): void {
    if (this.#time.isOver) this.stop('lost')
    if (this.#reason === 'lost') throw new Stopped('lost')
  }

  /** Processes the state in which a write or a read found the lease. */
  heed({ interruptRequested }: LeaseState): void {
    if (interruptRequested) this.stop('interrupted')
  }

  stop(reason: StopReason): void {
    if (this.#reason !== undefined && WEIGHTS[reason] <= WEIGHTS[this.#reason]) return
    this.#reason = reason
    if (reason === 'lost') this.#loss = this.#howLost()
    const stopped = new Stopped(reason)
    this.#work.abort(stopped)
    if (reason !== 'interrupted') this.#hold.abort(stopped)
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    clearTimeout(this.#renewal)
    this.#time[Symbol.dispose]()
    this.#interrupts[Symbol.dispose]()
  }

  #scheduleRenewal(renewed: boolean): void {
    const wait = this.#dependencies.leaseMs * RENEW_SHARE
    this.#renewal = setTimeout(() => void this.#renew(), renewed ? wait : Math.min(wait, AGAIN_MS))
  }

  async #renew(): Promise<void> {
    const { store, leaseMs } = this.#dependencies
    const wasRenewed = this.#time.renewing()
    const renewed = await this.#follow(store.renewLease(this.lease, leaseMs))
    if (renewed) wasRenewed()
    // If the store can't be reached, another attempt follows soon, until the time is over.
    if (this.#reason !== 'lost' && !this.#disposed) this.#scheduleRenewal(renewed)
  }

  #howLost(): Loss {
    if (!this.#time.isOver) return 'taken'
    return this.#failure === undefined ? this.#time.loss() : 'failure'
  }

  /** Reads whether an interrupt was requested; if something changes meanwhile, reads once more. */
  async #look(): Promise<void> {
    this.#lookAgain = true
    if (this.#looking) return
    this.#looking = true
    while (this.#lookAgain && this.#reason === undefined) {
      this.#lookAgain = false
      await this.#follow(this.#dependencies.store.inspect(this.lease, nothing, ({ state }) => state))
    }
    this.#looking = false
  }

  async #follow(call: Promise<LeaseState>): Promise<boolean> {
    try {
      this.heed(await call)
      this.#failure = undefined
      return true
    } catch (error) {
      if (isLeaseLost(error)) this.stop('lost')
      else if (!isStoreUnavailable(error)) this.#note(error)
      return false
    }
  }

  /** A failure is reported once, however often it comes again. */
  #note(error: unknown): void {
    const { sessionId } = this.lease
    const known = this.#failure !== undefined
    this.#failure = error
    if (!known) this.#dependencies.logger.error({ err: error, sessionId }, 'A lease could not be renewed')
  }
}
