import type { ClientSession } from 'mongodb'
import { commonPlaces, countPlaces, type PlaceBits } from '#services/session/adapters/common/titles/place-sets.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { Collections } from '../collections.ts'
import { blockOf, termName, termsKey } from './title-blocks.ts'

/** So few candidates are not narrowed down further. */
const FEW = 64

/** Options for reading everything in the same state. */
export interface Snapshot {
  readonly session: ClientSession
  readonly readConcern: { readonly level: 'snapshot' }
}

/**
 * The places in some blocks of sessions that have all terms, possibly with a few others. The term that ruled out the
 * last candidates moves to the front: it is likely to be the rarest in other blocks, too.
 */
export async function candidatesIn(
  { titleTerms }: Collections,
  snapshot: Snapshot,
  blocks: readonly number[],
  terms: number[],
): Promise<ReadonlyMap<number, PlaceBits>> {
  let left: readonly number[] = blocks
  let common = new Map<number, PlaceBits>()
  for (const [i, term] of terms.entries()) {
    const name = termName(term)
    const options = { ...snapshot, projection: { [`places.${name}`]: 1 }, promoteBuffers: true, maxTimeMS: MAX_TIME_MS }
    const found = titleTerms.find({ _id: { $in: left.map((block) => termsKey(block, term)) } }, options)
    const narrowed = new Map<number, PlaceBits>()
    for (const { _id, places } of await found.toArray()) {
      const block = blockOf(_id)
      // A copy, which begins where words of it may begin.
      const stored = places[name] && new Uint8Array(places[name])
      const both = stored && commonPlaces(stored, common.get(block))
      if (both !== undefined) narrowed.set(block, both)
    }
    common = narrowed
    left = [...common.keys()]
    let count = 0
    for (const places of common.values()) count += countPlaces(places)
    if (count === 0) terms.unshift(...terms.splice(i, 1))
    if (count <= FEW) break
  }
  return common
}
