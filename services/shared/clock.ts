/** Time as the services see it; injected, so that tests can stop it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds on a clock that never jumps; only differences mean something. */
  monotonic(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }
