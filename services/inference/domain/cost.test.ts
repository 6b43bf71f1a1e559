import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { costOf, nanosOf, outputCostOf, saysAll } from './cost.ts'

const nothing = { inputTokens: 0n, outputTokens: 0n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n }
const prices = {
  inputNanos: 1_000_000n,
  outputNanos: 4_000_000n,
  cacheReadNanos: 100_000n,
  cacheWriteNanos: 1_250_000n,
}
const pricing = create(PricingSchema, prices)

test('cached tokens are charged at their own price, reasoning as output', () => {
  const usage = {
    inputTokens: 1_000n,
    outputTokens: 10n,
    cacheReadTokens: 400n,
    cacheWriteTokens: 100n,
    reasoningTokens: 5n,
  }
  assert.equal(costOf(usage, pricing), 500n + 40n + 125n + 40n)
  assert.equal(outputCostOf(usage, pricing), 40n)
})

test('a long input has prices of its own for all tokens', () => {
  const twice = { inputNanos: 2_000_000n, outputNanos: 8_000_000n }
  const most = { ...twice, inputNanos: 9_000_000n }
  const long = [
    { aboveTokens: 1_000n, pricing: most },
    { aboveTokens: 100n, pricing: twice },
  ]
  const tiered = create(PricingSchema, { ...prices, long })
  const usage = (inputTokens: bigint) => ({ ...nothing, inputTokens, outputTokens: 10n })
  assert.deepEqual([costOf(usage(100n), tiered), outputCostOf(usage(100n), tiered)], [140n, 40n])
  assert.deepEqual([costOf(usage(101n), tiered), outputCostOf(usage(101n), tiered)], [282n, 80n])
  assert.equal(costOf(usage(1_001n), tiered), 9_009n + 80n)
})

test('an unknown price costs nothing, and a reported zero is a zero', () => {
  assert.equal(costOf({ ...nothing, inputTokens: 5n }, undefined), 0n)
  assert.equal(costOf(nothing, pricing), 0n)
})

test('the sum is rounded once, half up, and is exact beyond 2^53', () => {
  const half = create(PricingSchema, { inputNanos: 500_000n, outputNanos: 499_999n })
  assert.equal(costOf({ ...nothing, inputTokens: 1n }, half), 1n)
  assert.equal(costOf({ ...nothing, outputTokens: 1n }, half), 0n)
  assert.equal(costOf({ ...nothing, inputTokens: 9_007_199_254_740_993n }, pricing), 9_007_199_254_740_993n)
})

test('no price makes a cost that does not fit into the ledger', () => {
  const dear = { ...pricing, outputNanos: 10n ** 18n }
  assert.equal(costOf({ ...nothing, outputTokens: 10n ** 9n }, dear), 10n ** 16n)
  assert.equal(outputCostOf({ ...nothing, outputTokens: 10n ** 9n }, dear), 10n ** 16n)
})

test('only cached tokens are charged when there are more of them than input', () => {
  assert.equal(costOf({ ...nothing, inputTokens: 1n, cacheReadTokens: 10n }, pricing), 1n)
})

test('dollars are read exactly', () => {
  assert.equal(nanosOf('0.1'), 100_000_000n)
  assert.equal(nanosOf('15'), 15_000_000_000n)
  assert.equal(nanosOf('0.000000001'), 1n)
  for (const text of ['', '-1', '1e3', '.5', '1.', '0.0000000001', '1000000000', 'NaN']) {
    assert.equal(nanosOf(text), undefined)
  }
})

test('writes to a cache of an hour and searches have their own prices; a tier changes only the prices of tokens', () => {
  const usage = { ...nothing, inputTokens: 100n, cacheWriteTokens: 60n, outputTokens: 10n }
  const plain = costOf(usage, pricing)
  assert.equal(plain, 40n + 75n + 40n)
  const long = { billed: { longCacheWriteTokens: 20n } }
  assert.equal(costOf(usage, pricing, long), 40n + 50n + 40n + 40n)
  assert.equal(costOf(usage, { ...pricing, longCacheWriteNanos: 3_000_000n }, long), 40n + 50n + 60n + 40n)
  assert.equal(costOf(usage, pricing, { billed: { longCacheWriteTokens: 99n } }), 40n + 120n + 40n)
  const searches = { billed: { webSearches: 2n, fileSearches: 1n }, percent: 250 }
  const priced = { ...pricing, webSearchNanos: 1_000n, fileSearchNanos: 10n }
  assert.equal(costOf(usage, priced, searches), 388n + 2_010n)
  assert.equal(costOf(usage, pricing, searches), 388n + 30_000_000n)
  assert.equal(outputCostOf(usage, pricing, { percent: 50 }), 20n)
})

test('a cost is known if all its prices are', () => {
  const priced = { ...pricing, webSearchNanos: 1n, fileSearchNanos: 1n }
  for (const [terms, isKnown, whenPriced] of [
    [{}, true, true],
    [{ percent: 100, billed: { longCacheWriteTokens: 5n } }, true, true],
    [{ percent: 50 }, false, false],
    [{ billed: { webSearches: 1n } }, false, true],
    [{ billed: { webSearches: 0n, fileSearches: 1n } }, false, true],
    [{ billed: { otherTools: true } }, false, false],
  ] as const) {
    assert.deepEqual(
      [saysAll(pricing, terms), saysAll(priced, terms)],
      [isKnown, whenPriced],
      JSON.stringify(terms, (_, v) => String(v)),
    )
  }
})
