import { create } from '@bufbuild/protobuf'
import { type RecentExchanges, RecentExchangesSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { type ExchangeCounts, INTERVALS } from '#services/identity/ports/exchange-counts.ts'

/** Maximum number of networks; when there are more, the one that was silent longest is dropped. */
const NETWORKS = 10_000

/** The counts of the one process that has the SQLite files open: writing them would cost a commit every 0.1 s. */
export class MemoryExchangeCounts implements ExchangeCounts {
  /** Network → count by interval. The most recent network is last. */
  readonly #networks = new Map<string, Map<number, number>>()

  async add(interval: number, admitted: readonly RecentExchanges[]): Promise<RecentExchanges[]> {
    return admitted.map(({ network, counts }) => {
      const ofNetwork = this.#networks.get(network) ?? new Map<number, number>()
      this.#networks.delete(network)
      this.#networks.set(network, ofNetwork)
      for (const old of ofNetwork.keys()) if (old <= interval - INTERVALS) ofNetwork.delete(old)
      for (const [age, count] of counts.entries()) {
        if (count > 0) ofNetwork.set(interval - age, (ofNetwork.get(interval - age) ?? 0) + count)
      }
      this.#forget()
      const total = Array.from({ length: INTERVALS }, (_, age) => ofNetwork.get(interval - age) ?? 0)
      return create(RecentExchangesSchema, { network, counts: total })
    })
  }

  #forget(): void {
    for (const network of this.#networks.keys()) {
      if (this.#networks.size <= NETWORKS) return
      this.#networks.delete(network)
    }
  }
}
