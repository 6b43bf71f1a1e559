import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pricing } from './cost.ts'
import type { GenerationEvent, Usage } from './generation.ts'
import type { CostFactors } from './ledger/cost-factors.ts'
import { Meter } from './meter.ts'

const usual = { inputTokens: 10n, outputTokens: 5n, cacheReadTokens: 2n, cacheWriteTokens: 0n, reasoningTokens: 1n }
const finished: GenerationEvent = { type: 'finished', reason: 'stop', rawReason: 'stop' }
const dear = { inputNanos: 10n ** 18n, outputNanos: 10n ** 18n, cacheReadNanos: 0n, cacheWriteNanos: 0n }

function metered(...usages: Usage[]) {
  const meter = new Meter(dear, 7n)
  const [last] = meter.take([...usages.map((usage): GenerationEvent => ({ type: 'usage', usage })), finished])
  assert.equal(last?.type, 'finished')
  return { meter, last }
}

test('a usage that cannot be true counts as none reported, and is estimated, whichever of its numbers it is', () => {
  for (const name of Object.keys(usual)) {
    for (const tokens of [1_000_000_001n, 2n ** 53n - 1n, 2n ** 63n, 10n ** 30n]) {
      const { meter, last } = metered({ ...usual, [name]: tokens })
      assert.deepEqual([meter.implausible, last.usage], [true, estimated(7n, 0n)])
    }
  }
})

const estimated = (inputTokens: bigint, outputTokens: bigint): Usage => ({
  ...{ inputTokens, outputTokens, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n, estimated: true },
})

test('an answer that broke off counts the bytes that passed, 3 a token, and no less than was reported by then', () => {
  const started: GenerationEvent = { type: 'started', warnings: [] }
  const extended: GenerationEvent = { type: 'part-extended', index: 0, text: 'Zoë waits' }
  const brokenOff = (isSpent: boolean, ...events: GenerationEvent[]) => {
    const meter = new Meter(undefined, 7n)
    meter.take(events)
    meter.breakOff(isSpent)
    return meter.usage
  }
  assert.deepEqual(brokenOff(false), undefined)
  assert.deepEqual(brokenOff(true), estimated(7n, 0n))
  assert.deepEqual(brokenOff(false, started, extended), estimated(7n, 4n))
  const reported: GenerationEvent = { type: 'usage', usage: { ...usual, outputTokens: 1n } }
  assert.deepEqual(brokenOff(false, started, reported, extended), { ...usual, outputTokens: 4n, estimated: true })
  assert.deepEqual(brokenOff(true, started, extended, { type: 'usage', usage: usual }, finished), usual)
  const thought = (text?: string): GenerationEvent => ({
    ...{ type: 'part-ended', index: 1 },
    part: { type: 'reasoning', text, summary: 'Hm', encrypted: 'x'.repeat(400) },
  })
  assert.deepEqual(brokenOff(false, started, thought()), estimated(7n, 100n))
  assert.deepEqual(brokenOff(false, started, thought('y'.repeat(30))), estimated(7n, 90n))
  assert.deepEqual(brokenOff(true, started, thought('y'.repeat(400))), estimated(7n, 0n))
})

test('an estimate of the output is at most the maximum that the provider was sent; what it reports counts', () => {
  const events: GenerationEvent[] = [{ type: 'part-extended', index: 0, text: 'x'.repeat(3_000) }]
  const meter = new Meter(dear, 7n, { outputTokens: 100 })
  meter.take(events)
  assert.equal(meter.outputTokens, 100n)
  const [, last] = meter.take([...events, finished])
  assert.deepEqual(Object(last).usage, estimated(7n, 100n))
  const over: GenerationEvent = { type: 'usage', usage: { ...usual, outputTokens: 101n } }
  const [, reported] = new Meter(dear, 7n, { outputTokens: 100 }).take([...events, over, finished])
  assert.equal(Object(reported).usage.outputTokens, 101n)
})

test('an answer that failed before any output costs nothing, whatever the provider reported', () => {
  const reportedCost = { nanos: 9n, outputNanos: 0n }
  const usage: GenerationEvent = { type: 'usage', usage: { ...usual, outputTokens: 0n }, cost: reportedCost }
  for (const isSpent of [false, true]) {
    const meter = new Meter(undefined, 7n)
    meter.take([{ type: 'started', warnings: [] }, usage])
    meter.breakOff(isSpent)
    assert.deepEqual([meter.usage !== undefined, meter.costNanos], isSpent ? [true, 9n] : [false, 0n])
  }
})

test('after a usage that cannot be true the one before it still counts', () => {
  const { meter, last } = metered(usual, { ...usual, inputTokens: 10n ** 30n })
  assert.deepEqual([meter.implausible, last.usage], [true, usual])
})

test('the input is at least what is cached of it, as it is charged', () => {
  const used = { ...usual, inputTokens: 5n, cacheReadTokens: 50n, cacheWriteTokens: 7n }
  assert.deepEqual(metered(used).last.usage, { ...used, inputTokens: 57n })
  assert.deepEqual(metered({ ...used, inputTokens: 57n }).last.usage, { ...used, inputTokens: 57n })
})

test('searches count only with a plausible usage, and an impossible number of them makes it implausible', () => {
  for (const [usage, webSearches, isTrue] of [
    [usual, 2n, true],
    [usual, 10n ** 12n, false],
    [{ ...usual, inputTokens: 10n ** 30n }, 2n, false],
  ] as const) {
    const meter = new Meter({ ...dear, inputNanos: 0n, outputNanos: 0n }, 7n)
    const [last] = meter.take([{ type: 'usage', usage, billed: { webSearches } }, finished])
    assert.equal(last?.type, 'finished')
    assert.deepEqual([meter.implausible, last.costNanos], [!isTrue, isTrue ? 20_000_000n : 0n])
  }
})

test('an answer to an input without tokens is estimated', () => {
  const meter = new Meter(dear, 7n)
  meter.take([{ type: 'part-extended', index: 0, text: 'Hi' }])
  const [last] = meter.take([{ type: 'usage', usage: { ...usual, inputTokens: 0n, cacheReadTokens: 0n } }, finished])
  assert.equal(last?.type, 'finished')
  assert.deepEqual(last.usage, { ...usual, inputTokens: 7n, cacheReadTokens: 0n, estimated: true })
})

test('an output that cannot have been written in so few tokens is estimated', () => {
  const text: GenerationEvent = { type: 'part-extended', index: 0, text: 'x'.repeat(12_000) }
  for (const [outputTokens, expected] of [
    [0n, { ...usual, outputTokens: 4_000n, estimated: true }],
    [1n, { ...usual, outputTokens: 4_000n, estimated: true }],
    [6n, { ...usual, outputTokens: 6n }],
  ] as const) {
    const meter = new Meter(dear, 7n)
    meter.take([text])
    const [last] = meter.take([{ type: 'usage', usage: { ...usual, outputTokens } }, finished])
    assert.equal(last?.type, 'finished')
    assert.deepEqual([last.usage, meter.implausible], [expected, 'estimated' in expected])
  }
})

test('a usage below the maximum is not that of an answer that is certainly longer', () => {
  const text: GenerationEvent = { type: 'part-extended', index: 0, text: 'word'.repeat(3_750) }
  for (const [outputTokens, expected] of [
    [8n, { ...usual, outputTokens: 5_000n, estimated: true }],
    [100n, { ...usual, outputTokens: 100n }],
  ] as const) {
    const meter = new Meter(dear, 7n, { outputTokens: 100 })
    meter.take([text, { type: 'usage', usage: { ...usual, outputTokens } }])
    const [last] = meter.take([finished])
    assert.equal(last?.type, 'finished')
    assert.deepEqual(last.usage, expected)
  }
})

test('the largest usage that is believed costs what fits into the ledger', () => {
  const { meter, last } = metered({ ...usual, inputTokens: 1_000_000_000n, outputTokens: 1_000_000_000n })
  assert.equal(meter.implausible, false)
  assert.ok(last.costNanos < 2n ** 63n && last.outputCostNanos < 2n ** 63n)
})

test('the cost is that of the configured price, else what the provider reports, else that of the list, else unknown', () => {
  const cost = { nanos: 7n, outputNanos: 5n }
  const events: GenerationEvent[] = [{ type: 'usage', usage: usual, cost }, finished]
  const free = { inputNanos: 0n, outputNanos: 0n, cacheReadNanos: 0n, cacheWriteNanos: 0n }
  const said = (pricing: Pricing | undefined, batch: readonly GenerationEvent[]) => {
    const [last] = new Meter(pricing, 7n).take(batch)
    return last?.type === 'finished' && [last.costNanos, last.outputCostNanos, last.costKnown]
  }
  assert.deepEqual(said(free, events), [0n, 0n, true])
  assert.deepEqual(said(undefined, events), [7n, 5n, true])
  assert.deepEqual(said({ ...free, listed: true }, events), [7n, 5n, true])
  assert.deepEqual(said({ ...free, listed: true }, [{ type: 'usage', usage: usual }, finished]), [0n, 0n, true])
  assert.deepEqual(said(undefined, [{ type: 'usage', usage: usual }, finished]), [0n, 0n, false])
})

test('a tier without a price makes the cost an estimate, marked as one; what the provider reports takes precedence', () => {
  const pricing = { inputNanos: 1_000_000n, outputNanos: 1_000_000n, cacheReadNanos: 1_000_000n, cacheWriteNanos: 0n }
  const tiers = { pricePercent: 250, tierPercents: new Map(Object.entries({ priority: 250, flex: 50 })) }
  const cost = { nanos: 7n, outputNanos: 5n }
  const said = (factors: CostFactors, served: string | undefined, more: object = {}) => {
    const batch: GenerationEvent[] = [
      { type: 'usage', usage: usual, ...more },
      { ...finished, serviceTier: served },
    ]
    const last = new Meter(pricing, 7n, factors).take(batch).at(-1)
    return last?.type === 'finished' && [last.costNanos, last.costKnown]
  }
  assert.deepEqual(said({}, 'priority'), [15n, true])
  assert.deepEqual(said(tiers, undefined), [38n, false])
  assert.deepEqual(said(tiers, 'default'), [15n, true])
  assert.deepEqual(said(tiers, 'flex'), [8n, false])
  assert.deepEqual(said({ ...tiers, pricePercent: 50 }, undefined), [15n, true])
  for (const word of ['constructor', '__proto__', 'toString']) assert.deepEqual(said(tiers, word), [15n, true])
  assert.deepEqual(said(tiers, 'priority', { cost }), [7n, true])
  assert.deepEqual(said(tiers, 'default', { cost }), [15n, true])
  assert.deepEqual(said({ pricePercent: 600 }, 'standard'), [90n, false])
  assert.deepEqual(said({}, undefined, { billed: { pricePercent: 110 } }), [17n, false])
  assert.deepEqual(said({}, undefined, { billed: { webSearches: 1n } }), [10_000_015n, false])
  const broken = new Meter(pricing, 100n, { pricePercent: 600 })
  broken.breakOff(true)
  assert.deepEqual([broken.costNanos, broken.costKnown], [600n, false])
})
