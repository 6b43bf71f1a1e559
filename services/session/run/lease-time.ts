import type { Clock } from '#shared/clock.ts'

/**
 * How a lease was lost: to another owner; or by time, because the store took no renewal, because a
 * renewal failed for a reason that nobody foresaw, because work held up this process, or because this process was not given
 * time: it was suspended, or the machine had none.
 */
export type Loss = 'taken' | 'outage' | 'failure' | 'stall' | 'pause'

/** Whether the run can't be to blame, so that its acquisition does not count (ADR 0009). */
export function isBlameless(loss: Loss): boolean {
  return loss === 'outage' || loss === 'pause'
}

/** Where a process stood at a moment. */
interface Mark {
  /** Monotonic milliseconds. */
  readonly at: number
  /** For how many milliseconds its event loop has shown that it turns. */
  readonly turnedMs: number
  /** For how many its thread has had a processor. */
  readonly busyMs: number
}

/** A lease's last tenth is left unused: the owner stops before anybody else can begin. */
const SAFE_SHARE = 0.9

/** So often the event loop shows that it turns, as a share of the lease. */
const TURN_SHARE = 1 / 15

export interface LeaseTimeOptions {
  readonly clock: Clock
  /** How long a lease lasts when nobody renews it. */
  readonly leaseMs: number
  /** Milliseconds for which this thread has had a processor. */
  readonly busyMs?: () => number
}

/**
 * For how long its owner may act on a lease, by the monotonic clock, which ends before the lease can have run out. Watches
 * the event loop meanwhile, so that it is known afterwards why there was no renewal.
 */
export class LeaseTime implements Disposable {
  readonly #options: LeaseTimeOptions
  #safeUntil: number
  /** When the lease was requested that lasts now. */
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

  /** Sees the event loop turn until the time is over, and calls the listener then. */
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

  /** To be called when a renewal is requested; what it returns is called when it was granted, and begins the time anew. */
  renewing(): () => void {
    const requested = this.#mark(this.#options.clock.monotonic())
    return () => {
      this.#safeUntil = requested.at + this.#options.leaseMs * SAFE_SHARE
      this.#begun = requested
    }
  }

  /** Why the lease was not renewed from when it was requested until it ran out. */
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
