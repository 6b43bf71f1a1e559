import { type ExchangeCounts, type RecentExchanges, STEPS } from '#services/identity/ports/exchange-counts.ts'

/** Networks that are remembered; when there are more, the one that was silent longest is forgotten. */
const NETWORKS = 10_000

/** The counts of the one process that has the SQLite files open: to write them down would cost a commit every 0.1 s. */
export class MemoryExchangeCounts implements ExchangeCounts {
  /** Network → count by step. The network that came last comes last. */
  readonly #networks = new Map<string, Map<number, number>>()

  async add(step: number, admitted: readonly RecentExchanges[]): Promise<readonly RecentExchanges[]> {
    return admitted.map(({ network, counts }) => {
      const steps = this.#networks.get(network) ?? new Map<number, number>()
      this.#networks.delete(network)
      this.#networks.set(network, steps)
      for (const old of steps.keys()) if (old <= step - STEPS) steps.delete(old)
      for (const [age, count] of counts.entries()) {
        if (count > 0) steps.set(step - age, (steps.get(step - age) ?? 0) + count)
      }
      this.#forget()
      return { network, counts: Array.from({ length: STEPS }, (_, age) => steps.get(step - age) ?? 0) }
    })
  }

  #forget(): void {
    for (const network of this.#networks.keys()) {
      if (this.#networks.size <= NETWORKS) return
      this.#networks.delete(network)
    }
  }
}
