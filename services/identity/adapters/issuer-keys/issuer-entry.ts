import { candidatesOf, type KeySet, lacks } from '#services/identity/domain/issuer-keys/key-set.ts'
import type { FetchAttempt } from '#services/identity/ports/issuer-health.ts'
import type { IssuerKeyAnswer, KeyHint } from '#services/identity/ports/issuer-keys.ts'
import type { Clock } from '#shared/clock.ts'
import type { FetchedKeySet } from './fetch-key-set.ts'

/** How long keys are fresh; an issuer may set less, but not less than the first value. */
const LEAST_FRESH_MS = 60_000
const MOST_FRESH_MS = 600_000
/** How long known keys are used, after they were fetched, while newer ones cannot be fetched. */
const MOST_AGE_MS = 3_600_000
/** How long after a fetch keys that it did not contain are not fetched again. */
const COOLDOWN_MS = 30_000
/** Pause after a failure, doubled by each further one. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

/** How long a caller waits for a fetch. */
export interface Patience {
  /** If no keys are known. */
  readonly unknownMs: number
  /** If keys are known, but no longer fresh. */
  readonly knownMs: number
}

/** What an entry needs from outside. */
export interface EntryDependencies {
  readonly clock: Clock
  readonly patience: Patience
  /** Fetches the keys once there is room. Rejects with an error whose message is for admins; never hangs. */
  readonly fetch: () => Promise<FetchedKeySet>
  /** Called after every fetch, with its result. */
  readonly report: (attempt: FetchAttempt, set: KeySet | undefined) => void
}

/** The fetched keys of one revision of an issuer, and when they may be fetched again. */
export class IssuerEntry {
  readonly #dependencies: EntryDependencies
  #latest: { readonly set: KeySet; readonly time: number; readonly freshMs: number } | undefined
  #pending: Promise<void> | undefined
  #failures = 0
  #nextTry = Number.NEGATIVE_INFINITY
  #problem = 'the keys are still being fetched'

  constructor(dependencies: EntryDependencies) {
    this.#dependencies = dependencies
  }

  /** See the port. */
  async candidates(hint: KeyHint): Promise<IssuerKeyAnswer> {
    const { patience } = this.#dependencies
    const usable = this.#usable()
    if (usable === undefined || lacks(usable.set, hint)) {
      if (usable !== undefined && this.#failures === 0 && this.#age(usable) < COOLDOWN_MS)
        return answerOf(usable.set, hint, false)
      const before = this.#latest
      const fetching = this.#fetch()
      if (fetching !== undefined) await settleWithin(fetching, patience.unknownMs)
      return this.#latest === before || this.#latest === undefined
        ? this.#unavailable()
        : answerOf(this.#latest.set, hint, true)
    }
    if (this.#age(usable) >= usable.freshMs / 2) {
      const fetching = this.#fetch()
      // A key that its issuer has withdrawn must not be accepted just because nobody has fetched for a while.
      if (fetching !== undefined && this.#failures === 0 && this.#age(usable) >= usable.freshMs) {
        await settleWithin(fetching, patience.knownMs)
      }
    }
    return answerOf((this.#latest ?? usable).set, hint, false)
  }

  /** The keys that may still be used, fresh or not. */
  #usable() {
    return this.#latest !== undefined && this.#age(this.#latest) < MOST_AGE_MS ? this.#latest : undefined
  }

  #age({ time }: { readonly time: number }): number {
    return this.#dependencies.clock.monotonic() - time
  }

  #unavailable(): IssuerKeyAnswer {
    const wait = Math.max(this.#nextTry - this.#dependencies.clock.monotonic(), FIRST_WAIT_MS)
    return { kind: 'unavailable', problem: this.#problem, retryAfterSeconds: Math.ceil(wait / 1_000) }
  }

  /** The fetch in progress, or a new one; undefined if it is too early for one. Never rejects. */
  #fetch(): Promise<void> | undefined {
    if (this.#pending !== undefined) return this.#pending
    if (this.#dependencies.clock.monotonic() < this.#nextTry) return undefined
    this.#pending = this.#attempt().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  async #attempt(): Promise<void> {
    const { clock, fetch, report } = this.#dependencies
    try {
      const { set, maxAgeSeconds } = await fetch()
      const freshMs = Math.min(
        Math.max((maxAgeSeconds ?? Number.POSITIVE_INFINITY) * 1_000, LEAST_FRESH_MS),
        MOST_FRESH_MS,
      )
      this.#latest = { set, time: clock.monotonic(), freshMs }
      this.#failures = 0
      this.#nextTry = Number.NEGATIVE_INFINITY
      // The issuer published a key set in which no key can be used: whoever administers it has to learn why nothing is
      // accepted.
      const failure = set.keys.length === 0 ? ['No key can be used', ...set.unusable].join('; ') : undefined
      report({ time: clock.now(), failure, timeNextTry: undefined }, set)
    } catch (error) {
      const wait = Math.min(FIRST_WAIT_MS * 2 ** this.#failures, LONGEST_WAIT_MS)
      this.#failures += 1
      this.#nextTry = clock.monotonic() + wait
      this.#problem = error instanceof Error ? error.message : String(error)
      const time = clock.now()
      report({ time, failure: this.#problem, timeNextTry: time + wait }, undefined)
    }
  }
}

function answerOf(set: KeySet, hint: KeyHint, waited: boolean): IssuerKeyAnswer {
  return { kind: 'found', keys: candidatesOf(set, hint), waited }
}

/**
 * Waits for a promise that never rejects, for at most this many milliseconds; returns whether it was settled by then.
 */
async function settleWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(late.resolve, milliseconds, false)
  try {
    return await Promise.race([promise.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
