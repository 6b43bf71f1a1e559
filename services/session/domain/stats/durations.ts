const RUN_MS = 1_000

/** Durations in milliseconds, each stored once with its count, so that the median is exact for any number of them. */
export class Durations {
  /** By second, so that the median is found without sorting all. */
  readonly #seconds = new Map<number, { total: number; readonly counts: Map<number, number> }>()
  #total = 0

  add(ms: number): void {
    const second = Math.floor(ms / RUN_MS)
    const run = this.#seconds.get(second) ?? { total: 0, counts: new Map() }
    if (run.total === 0) this.#seconds.set(second, run)
    run.total += 1
    run.counts.set(ms, (run.counts.get(ms) ?? 0) + 1)
    this.#total += 1
  }

  /** The middle one, or the mean of the two in the middle; undefined where there are none. */
  median(): number | undefined {
    if (this.#total === 0) return undefined
    return (this.#at((this.#total - 1) >> 1) + this.#at(this.#total >> 1)) / 2
  }

  /** The duration with that many before it. */
  #at(rank: number): number {
    let before = 0
    for (const second of sorted(this.#seconds.keys())) {
      const { total, counts } = this.#seconds.get(second) as { total: number; counts: Map<number, number> }
      if (before + total <= rank) {
        before += total
        continue
      }
      for (const ms of sorted(counts.keys())) {
        before += counts.get(ms) as number
        if (before > rank) return ms
      }
    }
    return 0
  }
}

function sorted(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b)
}
