import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { type Arrival, ArrivalBudget } from './arrival-budget.ts'
import { ByteBudget } from './byte-budget.ts'

const MIB = 1_048_576
/** A larger body waits for its turn, and is decoded, parsed and checked in separate turns of the event loop. */
export const LARGE = MIB

/** Limits for the large bodies of one process; bytes and milliseconds. */
export interface LargeBodyLimits {
  /**
   * Held by bodies that are arriving or have arrived, beyond the first megabyte of each, but for the oldest, which may
   * always go on: most clients are slow, and need not wait for each other.
   */
  readonly arriving: number
  /** Held by those of one organization, but for its oldest. */
  readonly arrivingOfOne: number
  /**
   * Held by those that are being parsed and handled: each takes several times its size, and its copies are collected
   * together.
   */
  readonly handled: number
  /** How long a body waits for its turn, in all. */
  readonly waitMs: number
  /** The least that a body must bring within each `paceMs` in which it does not wait. */
  readonly pace: number
  readonly paceMs: number
}

/** Proxies usually wait for 60 s. */
export const LARGE_BODY_WAIT_MS = 45_000

const LIMITS: LargeBodyLimits = {
  arriving: 96 * MIB,
  arrivingOfOne: 48 * MIB,
  handled: 24 * MIB,
  waitMs: LARGE_BODY_WAIT_MS,
  pace: 160 * 1_024,
  paceMs: 10_000,
}

/** Others have had their turn by then, or were too slow. */
const RETRY = { retry_after: '10' }

/** This process's memory for large bodies. */
export class LargeBodies {
  readonly clock: Clock
  readonly limits: LargeBodyLimits
  readonly arriving: ArrivalBudget
  readonly handled: ByteBudget

  constructor(clock: Clock, limits: Partial<LargeBodyLimits> = {}) {
    this.clock = clock
    this.limits = { ...LIMITS, ...limits }
    this.arriving = new ArrivalBudget(this.limits.arriving, this.limits.arrivingOfOne)
    this.handled = new ByteBudget(this.limits.handled)
  }
}

/**
 * One body's share of the memory for large bodies; a small one never waits. Disposing it gives everything back. A body
 * whose turn does not come in time is refused with TOO_MANY_LARGE_BODIES.
 */
export class BodyShare implements Disposable {
  readonly #bodies: LargeBodies
  readonly #arrival: Arrival
  readonly #signal: () => AbortSignal
  readonly #taken = new DisposableStack()
  #waitMs: number
  /** How often it has begun or ceased to wait: an odd number while it waits. */
  #turns = 0
  #size = 0
  #pace: NodeJS.Timeout | undefined

  /** `owner`: whose bodies count together. `signal` aborts when the client is gone. */
  constructor(bodies: LargeBodies, owner: string, signal: () => AbortSignal) {
    this.#bodies = bodies
    this.#arrival = { owner, held: 0 }
    this.#signal = signal
    this.#waitMs = bodies.limits.waitMs
  }

  /**
   * Takes what a body needs of which so many bytes have arrived. Undefined if more may arrive; else a promise that
   * resolves when it may. From its first megabyte on, `refuse` is called with BODY_TOO_SLOW when the client is silent,
   * or too slow.
   */
  arrive(size: number, refuse: (error: Rejection) => void): Promise<void> | undefined {
    this.#size = size
    if (size <= LARGE + this.#arrival.held) return undefined
    const { arriving } = this.#bodies
    if (this.#pace === undefined) {
      this.#watchPace(refuse)
      this.#taken.defer(() => arriving.release(this.#arrival))
    }
    return this.#wait((signal) => arriving.take(this.#arrival, LARGE, signal))
  }

  /** Resolves when a body that has arrived may be read and handled. */
  async handle(bytes: number): Promise<void> {
    clearInterval(this.#pace)
    if (bytes <= LARGE) return
    const taken = await this.#wait((signal) => this.#bodies.handled.take(bytes, signal))
    // Disposed meanwhile: the request was refused before its turn came.
    if (this.#taken.disposed) taken[Symbol.dispose]()
    else this.#taken.use(taken)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#pace)
    this.#taken.dispose()
  }

  #watchPace(refuse: (error: Rejection) => void): void {
    const { pace, paceMs } = this.#bodies.limits
    let [size, turns] = [this.#size, this.#turns]
    this.#pace = setInterval(() => {
      const hasWaited = this.#turns !== turns || turns % 2 === 1
      const isSlow = !hasWaited && this.#size - size < pace
      size = this.#size
      turns = this.#turns
      if (isSlow) refuse(new Rejection('BODY_TOO_SLOW'))
    }, paceMs)
  }

  async #wait<T>(take: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#bodies
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Rejection('TOO_MANY_LARGE_BODIES', RETRY)), this.#waitMs)
    const began = clock.monotonic()
    this.#turns++
    try {
      return await take(AbortSignal.any([this.#signal(), late.signal]))
    } finally {
      clearTimeout(timer)
      this.#waitMs -= clock.monotonic() - began
      this.#turns++
    }
  }
}
