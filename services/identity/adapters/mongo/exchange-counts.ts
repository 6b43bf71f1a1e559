import { create } from '@bufbuild/protobuf'
import type { Collection, Db, Document } from 'mongodb'
import { type RecentExchanges, RecentExchangesSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { type ExchangeCounts, INTERVAL_MS, INTERVALS } from '#services/identity/ports/exchange-counts.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'

/** Admitted exchanges of a network, in a ring of slots: an interval uses the slot of its number modulo their count. */
interface CountsDocument {
  readonly _id: string
  readonly slots: Readonly<Record<string, { readonly step: number; readonly count: number }>>
  /** When the server removes it. */
  readonly timeForgotten: Date
}

const KEPT_MS = 2 * INTERVALS * INTERVAL_MS
/** Counts are not worth waiting for the majority. */
const LIMIT = { maxTimeMS: MAX_TIME_MS, writeConcern: { w: 1 } } as const

export class MongoExchangeCounts implements ExchangeCounts {
  readonly #documents: Collection<CountsDocument>

  constructor(db: Db) {
    this.#documents = db.collection('identity.exchange_counts')
  }

  async add(interval: number, admitted: readonly RecentExchanges[]): Promise<RecentExchanges[]> {
    if (admitted.length === 0) return []
    const updates = admitted.map(({ network, counts }) => ({
      updateOne: { filter: { _id: network }, update: [{ $set: changesOf(interval, counts) }], upsert: true },
    }))
    await this.#documents.bulkWrite(updates, { ordered: false, ...LIMIT })
    const networks = admitted.map(({ network }) => network)
    const cursor = this.#documents.find(
      { _id: { $in: networks } },
      { maxTimeMS: MAX_TIME_MS, readConcern: { level: 'local' } },
    )
    const slots = new Map((await cursor.toArray()).map((document) => [document._id, document.slots]))
    return networks.map((network) => {
      return create(RecentExchangesSchema, { network, counts: countsOf(interval, slots.get(network)) })
    })
  }
}

/** A slot that still contains an older interval starts over. */
function changesOf(now: number, counts: readonly number[]): Document {
  const changes = counts.flatMap((count, age): [string, Document][] => {
    if (count === 0) return []
    const interval = now - age
    const slot = `slots.${interval % INTERVALS}`
    const there = { $gte: [`$${slot}.step`, interval] }
    const added = { step: `$${slot}.step`, count: { $add: [`$${slot}.count`, count] } }
    return [[slot, { $cond: [there, added, { step: interval, count }] }]]
  })
  return { ...Object.fromEntries(changes), timeForgotten: { $add: ['$$NOW', KEPT_MS] } }
}

function countsOf(now: number, slots: CountsDocument['slots'] = {}): number[] {
  return Array.from({ length: INTERVALS }, (_, age) => {
    const slot = slots[(now - age) % INTERVALS]
    return slot?.step === now - age ? slot.count : 0
  })
}
