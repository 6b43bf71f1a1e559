import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { RecentExchangesSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { type ExchangeCounts, INTERVALS } from '#services/identity/ports/exchange-counts.ts'

/** One place in which several processes count, if the store allows several. */
export interface CountsPlace extends AsyncDisposable {
  open(): ExchangeCounts
}

const NOW = 900_000_000

const recent = (network: string, ...counts: number[]) => create(RecentExchangesSchema, { network, counts })

/** Counts by age without trailing zeros. */
function short({ network, counts }: { network: string; counts: readonly number[] }) {
  assert.ok(counts.length <= INTERVALS)
  return { network, counts: counts.slice(0, counts.findLastIndex((count) => count > 0) + 1) }
}

/** What ExchangeCounts promises, on any adapter. */
export function exchangeCountsSuite(name: string, create: () => Promise<CountsPlace>, options = {}): void {
  describe(`ExchangeCounts on ${name}`, options, () => {
    let place: CountsPlace
    let one: ExchangeCounts
    let other: ExchangeCounts
    beforeEach(async () => {
      place = await create()
      one = place.open()
      other = place.open()
    })
    afterEach(() => place[Symbol.asyncDispose]())
    const add = async (counts: ExchangeCounts, step: number, network: string, ...admitted: number[]) => {
      const [total] = await counts.add(step, [recent(network, ...admitted)])
      return total === undefined ? undefined : short(total).counts
    }

    test('adds up the exchanges of several processes by network and age', async () => {
      assert.deepEqual(await add(one, NOW, 'a', 3), [3])
      assert.deepEqual(await add(other, NOW, 'a', 2, 0, 5), [5, 0, 5])
      assert.deepEqual(await add(other, NOW, 'b', 1), [1])
      assert.deepEqual(await add(one, NOW + 2, 'a', 0, 1), [0, 1, 5, 0, 5])
    })

    test('totals come in the order of the networks, also for an unknown one', async () => {
      await add(one, NOW, 'a', 3)
      const totals = await other.add(NOW, [recent('b', 1), recent('a'), recent('c', 0, 0)])
      assert.deepEqual(totals.map(short), [
        { network: 'b', counts: [1] },
        { network: 'a', counts: [3] },
        { network: 'c', counts: [] },
      ])
      assert.deepEqual(await one.add(NOW, []), [])
    })

    test('exchanges older than the kept intervals do not count, and their place is used again', async () => {
      await add(one, NOW, 'a', 3)
      assert.deepEqual(await add(one, NOW + INTERVALS - 1, 'a', 1), [1, ...Array<number>(INTERVALS - 2).fill(0), 3])
      assert.deepEqual(await add(other, NOW + INTERVALS, 'a', 2), [2, 1])
      assert.deepEqual(await add(other, NOW + 10 * INTERVALS, 'a', 4), [4])
    })

    test('concurrent additions are all counted', async () => {
      const many = Array.from({ length: 40 }, (_, i) => add(i % 2 === 0 ? one : other, NOW, 'a', 1))
      await Promise.all(many)
      assert.deepEqual(await add(one, NOW, 'a'), [40])
    })
  })
}
