import { detached } from '#shared/telemetry/tracing.ts'

/** How long the pieces of a burst are collected, in milliseconds. */
const BURST_MS = 2

/** Those that wait for the next tick of the clock that all bursts of the process share. */
let waiting: (() => void)[] = []

function tick(): void {
  const callbacks = waiting
  waiting = []
  for (const callback of callbacks) callback()
}

/**
 * Decides when what has come is passed on: at once after a pause, and within a burst at the next tick of a clock that
 * all bursts share, and that only ticks while something waits.
 */
export class Burst {
  readonly #pass: () => void
  #passedAt = Number.NEGATIVE_INFINITY
  #waits = false
  readonly #onTick = (): void => {
    this.#waits = false
    this.#pass()
  }

  constructor(pass: () => void) {
    this.#pass = pass
  }

  /** A piece has come. */
  came(): void {
    if (this.#waits) return
    if (performance.now() - this.#passedAt >= BURST_MS) {
      this.#pass()
      return
    }
    this.#waits = true
    if (waiting.push(this.#onTick) === 1) detached(() => setTimeout(tick, BURST_MS))
  }

  /** What had come was passed on. */
  passed(): void {
    this.#passedAt = performance.now()
  }
}
