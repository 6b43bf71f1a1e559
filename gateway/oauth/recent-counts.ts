/** How long a step is, in milliseconds. */
export const STEP_MS = 2_000
/**
 * Steps that are counted. Any minute touches 31 of them; one more is there because those of another clock begin elsewhere, so that
 * no minute is ever counted too short.
 */
export const STEPS = 32

/** What was counted lately, by steps of time, newest first. Steps are numbers of {@link STEP_MS} on a clock that never jumps. */
export class RecentCounts {
  #newest = 0
  #counts: number[] = []

  add(step: number, count = 1): void {
    const counts = this.at(step)
    counts[0] = (counts[0] ?? 0) + count
  }

  /** Adds what was counted elsewhere, by age. */
  addAll(step: number, ages: readonly number[]): void {
    const counts = this.at(step)
    for (const [age, count] of ages.slice(0, STEPS).entries()) counts[age] = (counts[age] ?? 0) + count
  }

  /** Adds as little as is needed to count, of any time up to now, at least as many as were counted elsewhere. */
  raiseTo(step: number, ages: readonly number[]): void {
    const counts = this.at(step)
    let [here, elsewhere, most] = [0, 0, 0]
    for (let age = 0; age < Math.max(counts.length, ages.length); age++) {
      here += counts[age] ?? 0
      elsewhere += ages[age] ?? 0
      counts[age] = Math.max(here, elsewhere) - most
      most += counts[age] ?? 0
    }
  }

  /** Takes out everything that is counted. */
  take(step: number): readonly number[] {
    const counts = this.at(step)
    this.#counts = []
    return counts
  }

  total(step: number): number {
    let total = 0
    for (const count of this.at(step)) total += count
    return total
  }

  /** The first step at which fewer than `limit` are counted, if nothing is added. */
  stepBelow(step: number, limit: number): number {
    const counts = this.at(step)
    let total = this.total(step)
    let below = step
    for (let age = counts.length - 1; age >= 0 && total >= limit; age--) {
      total -= counts[age] ?? 0
      below = step + STEPS - age
    }
    return below
  }

  /** Counts by age, newest first; nothing follows the oldest that is not 0. */
  at(step: number): number[] {
    const passed = step - this.#newest
    if (passed > 0) {
      const kept = passed < STEPS ? this.#counts.slice(0, STEPS - passed) : []
      this.#counts = kept.length === 0 ? [] : [...Array<number>(passed).fill(0), ...kept]
      this.#newest = step
    }
    return this.#counts
  }
}
