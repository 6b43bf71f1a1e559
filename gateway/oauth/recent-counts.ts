/** How long an interval is, in milliseconds. */
export const INTERVAL_MS = 2_000
/**
 * Intervals that are counted. Any minute touches 31 of them; one more is there because those of another clock begin
 * elsewhere, so that no minute is ever counted too short.
 */
export const INTERVALS = 32

/**
 * Recent counts, by intervals of time, newest first. Intervals are numbers of {@link INTERVAL_MS} on a clock that never
 * jumps.
 */
export class RecentCounts {
  #newest = 0
  #counts: number[] = []

  add(interval: number, count = 1): void {
    const counts = this.at(interval)
    counts[0] = (counts[0] ?? 0) + count
  }

  /** Adds what was counted elsewhere, by age. */
  addAll(interval: number, ages: readonly number[]): void {
    const counts = this.at(interval)
    for (const [age, count] of ages.slice(0, INTERVALS).entries()) counts[age] = (counts[age] ?? 0) + count
  }

  /** Adds as little as needed so that the total of any period up to now is at least the other's. */
  raiseTo(interval: number, ages: readonly number[]): void {
    const counts = this.at(interval)
    let here = 0
    let elsewhere = 0
    let most = 0
    for (let age = 0; age < Math.max(counts.length, ages.length); age++) {
      here += counts[age] ?? 0
      elsewhere += ages[age] ?? 0
      counts[age] = Math.max(here, elsewhere) - most
      most += counts[age] ?? 0
    }
  }

  /** Removes and returns all counts. */
  take(interval: number): readonly number[] {
    const counts = this.at(interval)
    this.#counts = []
    return counts
  }

  total(interval: number): number {
    let total = 0
    for (const count of this.at(interval)) total += count
    return total
  }

  /** The first interval at which fewer than `limit` are counted, if nothing is added. */
  intervalBelow(interval: number, limit: number): number {
    const counts = this.at(interval)
    let total = this.total(interval)
    let below = interval
    for (let age = counts.length - 1; age >= 0 && total >= limit; age--) {
      total -= counts[age] ?? 0
      below = interval + INTERVALS - age
    }
    return below
  }

  /** Counts by age, newest first; nothing follows the oldest that is not 0. */
  at(interval: number): number[] {
    const passed = interval - this.#newest
    if (passed > 0) {
      const kept = passed < INTERVALS ? this.#counts.slice(0, INTERVALS - passed) : []
      this.#counts = kept.length === 0 ? [] : [...Array<number>(passed).fill(0), ...kept]
      this.#newest = interval
    }
    return this.#counts
  }
}
