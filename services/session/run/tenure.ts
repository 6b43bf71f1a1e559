import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { AcquiredLease, LeaseState } from '../ports/lease.ts'
import { nothing, type SessionStore } from '../ports/session-store.ts'
import type { SessionWatchers } from './session-watchers.ts'

/** Why a drain has to stop: its lease is lost, the user interrupted the run, or the process is going to end. */
export type StopReason = 'lost' | 'interrupted' | 'shutdown'

/** Thrown wherever a drain is stopped. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly reason: StopReason

  constructor(reason: StopReason) {
    super(`The drain was stopped: ${reason}`)
    this.reason = reason
  }
}

/** Whether a store refused because the lease is no longer ours. */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'LEASE_LOST'
}

/**
 * How a lease was lost: to another owner, or by expiring. It expires because the store accepted no renewal (`outage`),
 * a renewal failed unexpectedly (`failure`), work blocked this process (`stall`), or this process did not run
 * (`pause`).
 */
export type Loss = 'taken' | 'outage' | 'failure' | 'stall' | 'pause'

/** Whether the run can't be to blame, so that its acquisition does not count (ADR 0009). */
export function isBlameless(loss: Loss): boolean {
  return loss === 'outage' || loss === 'pause'
}

export interface TenureDependencies {
  readonly store: Pick<SessionStore, 'renewLease' | 'inspect'>
  readonly watchers: SessionWatchers
  readonly logger: Logger
  readonly clock: Clock
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number
  /** Milliseconds for which the event loop was not idle. */
  readonly activeMs?: () => number
}

/** A lease's last tenth is left unused: the owner stops before anybody else can begin. */
const SAFE_SHARE = 0.9

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
  #reason: StopReason | undefined
  #loss: Loss | undefined
  /** The error of the last call, unless the store was unavailable. */
  #failure: unknown
  /** The store was unavailable for the last call. */
  #isAway = false
  /** When the current lease was requested, and for how long the event loop had been active by then. */
  #since: { readonly at: number; readonly activeMs: number }
  #renewal: NodeJS.Timeout | undefined
  #expiry: NodeJS.Timeout | undefined
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
    this.#since = { ...this.#now(), at: since }
    this.#scheduleRenewal(true)
    this.#watchExpiry()
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
    if (this.#leftMs <= 0) this.stop('lost')
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
    clearTimeout(this.#expiry)
    this.#interrupts[Symbol.dispose]()
  }

  #scheduleRenewal(renewed: boolean): void {
    const wait = this.#dependencies.leaseMs * RENEW_SHARE
    this.#renewal = setTimeout(() => void this.#renew(), renewed ? wait : Math.min(wait, AGAIN_MS))
  }

  async #renew(): Promise<void> {
    if (this.#leftMs <= 0) return this.stop('lost')
    const { store, leaseMs } = this.#dependencies
    const requested = this.#now()
    const renewed = await this.#follow(store.renewLease(this.lease, leaseMs))
    if (renewed) this.#since = requested
    // If the store can't be reached, another attempt follows soon, until the time is over.
    if (this.#reason !== 'lost' && !this.#disposed) this.#scheduleRenewal(renewed)
  }

  #watchExpiry(): void {
    const leftMs = this.#leftMs
    if (leftMs <= 0) this.stop('lost')
    else this.#expiry = setTimeout(() => this.#watchExpiry(), leftMs)
  }

  /** For how long the owner may act on its lease, by the monotonic clock. */
  get #leftMs(): number {
    const { clock, leaseMs } = this.#dependencies
    return this.#since.at + leaseMs * SAFE_SHARE - clock.monotonic()
  }

  #now(): { readonly at: number; readonly activeMs: number } {
    const { clock, activeMs = loopActiveMs } = this.#dependencies
    return { at: clock.monotonic(), activeMs: activeMs() }
  }

  #howLost(): Loss {
    if (this.#leftMs > 0) return 'taken'
    if (this.#failure !== undefined) return 'failure'
    if (this.#isAway) return 'outage'
    const { at, activeMs } = this.#now()
    return activeMs - this.#since.activeMs >= (at - this.#since.at) / 2 ? 'stall' : 'pause'
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
      this.#isAway = false
      return true
    } catch (error) {
      this.#isAway = isStoreUnavailable(error)
      if (isLeaseLost(error)) this.stop('lost')
      else if (!this.#isAway) this.#note(error)
      return false
    }
  }

  /** A failure is reported once, however often it comes again. */
  #note(error: unknown): void {
    const { sessionId } = this.lease
    const isRepeat = this.#failure !== undefined
    this.#failure = error
    if (!isRepeat) this.#dependencies.logger.error({ err: error, sessionId }, 'A lease could not be renewed')
  }
}

function loopActiveMs(): number {
  return performance.eventLoopUtilization().active
}
