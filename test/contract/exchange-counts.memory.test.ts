import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { RecentExchangesSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { MemoryExchangeCounts } from '#services/identity/adapters/exchange-counts.ts'
import { exchangeCountsSuite } from './exchange-counts.suite.ts'

exchangeCountsSuite('memory', async () => {
  const counts = new MemoryExchangeCounts()
  return { open: () => counts, async [Symbol.asyncDispose]() {} }
})

test('a bounded number of networks is remembered: the longest silent ones are forgotten', async () => {
  const counts = new MemoryExchangeCounts()
  const total = async (network: string) =>
    (await counts.add(1, [create(RecentExchangesSchema, { network, counts: [1] })]))[0]?.counts[0]
  assert.equal(await total('a'), 1)
  for (let i = 0; i < 9_999; i++) await total(`${i}`)
  assert.equal(await total('a'), 2)
  for (let i = 0; i < 10_000; i++) await total(`other ${i}`)
  assert.equal(await total('a'), 1)
})
