import type { Clock } from '#shared/clock.ts'

/**
 * How a lease was lost: to another owner, or by expiring. It expires because the store accepted no renewal (`outage`),
 * a renewal failed unexpectedly (`failure`), work blocked this process (`stall`), or this process was suspended or got
 * no processor time (`pause`).
 */
export type Loss = 'taken' | 'outage' | 'failure' | 'stall' | 'pause'

/** Whether the run can't be to blame, so that its acquisition does not count (ADR 0009). */
export function isBlameless(loss: Loss): boolean {
  return loss === 'outage' || loss === 'pause'
}

/** The clocks of the process at a moment. */
interface Mark {
  /** Monotonic milliseconds. */
  readonly at: number
  /** For how many milliseconds its event loop was observed to run. */
  readonly turnedMs: number
  /** For how many milliseconds its thread was running on a processor. */
  readonly busyMs: number
}

/** A lease's last tenth is left unused: the owner stops before anybody else can begin. */
const SAFE_SHARE = 0.9

/** How often the event loop is observed, as a share of the lease. */
const TURN_SHARE = 1 / 15

export interface LeaseTimeOptions {
  readonly clock: Clock
  /** How long a lease lasts without renewal. */
  readonly leaseMs: number
  /** Milliseconds for which this thread has run on a processor. */
  readonly busyMs?: () => number
}

/**
 * The time for which an owner may act on its lease, by the monotonic clock; it ends before the lease can have expired.
 * Observes the event loop meanwhile, so that the reason for a missing renewal is known.
 */
export class LeaseTime implements Disposable {
  readonly #options: LeaseTimeOptions
  #safeUntil: number
  /** When the current lease was requested. */
  #begun: Mark
  #turnedMs = 0
  #timer: NodeJS.Timeout | undefined

  /** `since`: monotonic time before the lease was requested. */
  constructor(since: number, options: LeaseTimeOptions) {
    this.#options = options
    this.#safeUntil = since + options.leaseMs * SAFE_SHARE
    this.#begun = this.#mark(since)
  }

  /** Whether the time is over, also when timers are late because the process was paused. */
  get isOver(): boolean {
    return this.#options.clock.monotonic() >= this.#safeUntil
  }

  /** Observes the event loop until the time is over, and then calls the listener. */
  watch(onOver: () => void): void {
    const { clock, leaseMs } = this.#options
    const left = this.#safeUntil - clock.monotonic()
    if (left <= 0) {
      onOver()
      return
    }
    const wait = Math.min(left, leaseMs * TURN_SHARE)
    const turn = (): void => {
      this.#turnedMs += wait
      this.watch(onOver)
    }
    this.#timer = setTimeout(turn, wait)
  }

  /**
   * To be called when a renewal is requested. The returned function is to be called when the renewal is granted; it
   * restarts the time.
   */
  renewing(): () => void {
    const requested = this.#mark(this.#options.clock.monotonic())
    return () => {
      this.#safeUntil = requested.at + this.#options.leaseMs * SAFE_SHARE
      this.#begun = requested
    }
  }

  /** Why the lease was not renewed between its request and its expiry. */
  loss(): Extract<Loss, 'outage' | 'stall' | 'pause'> {
    const now = this.#mark(this.#options.clock.monotonic())
    const half = (now.at - this.#begun.at) / 2
    if (now.turnedMs - this.#begun.turnedMs >= half) return 'outage'
    return now.busyMs - this.#begun.busyMs >= half ? 'stall' : 'pause'
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  #mark(at: number): Mark {
    return { at, turnedMs: this.#turnedMs, busyMs: (this.#options.busyMs ?? threadBusyMs)() }
  }
}

function threadBusyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
