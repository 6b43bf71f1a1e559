import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason,
  type Pricing,
  PricingSchema,
  type Usage,
  UsageSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { GenerationEventSchema, type GenerationFinished } from '#gen/portico/inference/v1/inference_service_pb.js'
import { part } from '#test/support/generation.ts'
import type { ProviderEvent, ReportedUsage } from './generation.ts'
import type { CostFactors } from './ledger/cost-factors.ts'
import { Meter } from './meter.ts'

type EventInit = Exclude<MessageInitShape<typeof GenerationEventSchema>, { readonly $typeName: string }>['event']

const event = (event: EventInit): ProviderEvent => create(GenerationEventSchema, { event })
const report = (usage: Usage, more: Omit<ReportedUsage, 'usage'> = {}): ProviderEvent => ({
  event: { case: 'usage', value: { usage, ...more } },
})
const usual = create(UsageSchema, { inputTokens: 10n, outputTokens: 5n, cacheReadTokens: 2n, reasoningTokens: 1n })
const end = { reason: FinishReason.STOP, rawReason: 'stop' }
const started = event({ case: 'started', value: {} })
const finished = event({ case: 'finished', value: end })
const grown = (text: string) => event({ case: 'partExtended', value: { text } })
const dear = create(PricingSchema, { inputNanos: 10n ** 18n, outputNanos: 10n ** 18n })

/** The last event, once a meter has taken these. */
function lastOf(meter: Meter, ...events: readonly ProviderEvent[]): GenerationFinished {
  const last = meter.take(events).at(-1)?.event
  return last?.case === 'finished' ? last.value : assert.fail()
}

function metered(...usages: Usage[]) {
  const meter = new Meter(dear, 7n)
  return { meter, last: lastOf(meter, ...usages.map((usage) => report(usage)), finished) }
}

test('an implausible usage counts as unreported, and is estimated, whichever of its numbers is implausible', () => {
  for (const name of Object.keys(usual).filter((name) => name.endsWith('Tokens'))) {
    for (const tokens of [1_000_000_001n, 2n ** 53n - 1n, 2n ** 63n, 10n ** 30n]) {
      const { meter, last } = metered({ ...usual, [name]: tokens })
      assert.deepEqual([meter.implausible, last.usage], [true, estimated(7n, 0n)])
    }
  }
})

const estimated = (inputTokens: bigint, outputTokens: bigint): Usage =>
  create(UsageSchema, { inputTokens, outputTokens, estimated: true })

test('an answer that broke off counts the bytes that passed, 3 a token, and no less than was reported by then', () => {
  const extended = grown('Zoë waits')
  const brokenOff = (isSpent: boolean, ...events: ProviderEvent[]) => {
    const meter = new Meter(undefined, 7n)
    meter.take(events)
    meter.breakOff(isSpent)
    return meter.usage
  }
  assert.deepEqual(brokenOff(false), undefined)
  assert.deepEqual(brokenOff(true), estimated(7n, 0n))
  assert.deepEqual(brokenOff(false, started, extended), estimated(7n, 4n))
  const reported = report({ ...usual, outputTokens: 1n })
  assert.deepEqual(brokenOff(false, started, reported, extended), { ...usual, outputTokens: 4n, estimated: true })
  assert.deepEqual(brokenOff(true, started, extended, report(usual), finished), usual)
  const thought = (text?: string) => {
    const whole = part('reasoning', { text, summary: 'Hm', encrypted: 'x'.repeat(400) })
    return event({ case: 'partEnded', value: { index: 1, part: whole } })
  }
  assert.deepEqual(brokenOff(false, started, thought()), estimated(7n, 100n))
  assert.deepEqual(brokenOff(false, started, thought('y'.repeat(30))), estimated(7n, 90n))
  assert.deepEqual(brokenOff(true, started, thought('y'.repeat(400))), estimated(7n, 0n))
})

test('an estimate of the output is at most the maximum that the provider was sent; what it reports counts', () => {
  const events = [grown('x'.repeat(3_000))]
  const meter = new Meter(dear, 7n, { outputTokens: 100 })
  meter.take(events)
  assert.equal(meter.outputTokens, 100n)
  assert.deepEqual(lastOf(meter, ...events, finished).usage, estimated(7n, 100n))
  const over = report({ ...usual, outputTokens: 101n })
  const reported = lastOf(new Meter(dear, 7n, { outputTokens: 100 }), ...events, over, finished)
  assert.equal(reported.usage?.outputTokens, 101n)
})

test('an answer that failed before any output costs nothing, whatever the provider reported', () => {
  const reportedCost = { nanos: 9n, outputNanos: 0n }
  const usage = report({ ...usual, outputTokens: 0n }, { cost: reportedCost })
  for (const isSpent of [false, true]) {
    const meter = new Meter(undefined, 7n)
    meter.take([started, usage])
    meter.breakOff(isSpent)
    assert.deepEqual([meter.usage !== undefined, meter.costNanos], isSpent ? [true, 9n] : [false, 0n])
  }
})

test('an implausible usage leaves the plausible one before it in effect', () => {
  const { meter, last } = metered(usual, { ...usual, inputTokens: 10n ** 30n })
  assert.deepEqual([meter.implausible, last.usage], [true, usual])
})

test('the input counts as at least the sum of its cached tokens', () => {
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
    const last = lastOf(meter, report(usage, { billed: { webSearches } }), finished)
    assert.deepEqual([meter.implausible, last.costNanos], [!isTrue, isTrue ? 20_000_000n : 0n])
  }
})

test('an answer to an input without tokens is estimated', () => {
  const meter = new Meter(dear, 7n)
  meter.take([grown('Hi')])
  const last = lastOf(meter, report({ ...usual, inputTokens: 0n, cacheReadTokens: 0n }), finished)
  assert.deepEqual(last.usage, { ...usual, inputTokens: 7n, cacheReadTokens: 0n, estimated: true })
})

test('an output that cannot have been written in so few tokens is estimated', () => {
  const text = grown('x'.repeat(12_000))
  for (const [outputTokens, expected] of [
    [0n, { ...usual, outputTokens: 4_000n, estimated: true }],
    [1n, { ...usual, outputTokens: 4_000n, estimated: true }],
    [6n, { ...usual, outputTokens: 6n }],
  ] as const) {
    const meter = new Meter(dear, 7n)
    meter.take([text])
    const last = lastOf(meter, report({ ...usual, outputTokens }), finished)
    assert.deepEqual([last.usage, meter.implausible], [expected, expected.estimated])
  }
})

test('a usage below the maximum is not that of an answer that is certainly longer', () => {
  const text = grown('word'.repeat(3_750))
  for (const [outputTokens, expected] of [
    [8n, { ...usual, outputTokens: 5_000n, estimated: true }],
    [100n, { ...usual, outputTokens: 100n }],
  ] as const) {
    const meter = new Meter(dear, 7n, { outputTokens: 100 })
    meter.take([text, report({ ...usual, outputTokens })])
    assert.deepEqual(lastOf(meter, finished).usage, expected)
  }
})

test('the largest usage that is believed costs what fits into the ledger', () => {
  const { meter, last } = metered({ ...usual, inputTokens: 1_000_000_000n, outputTokens: 1_000_000_000n })
  assert.equal(meter.implausible, false)
  assert.ok(last.costNanos < 2n ** 63n && last.outputCostNanos < 2n ** 63n)
})

test('the cost is that of the configured price, else what the provider reports, else that of the list, else unknown', () => {
  const cost = { nanos: 7n, outputNanos: 5n }
  const events = [report(usual, { cost }), finished]
  const free = create(PricingSchema)
  const said = (pricing: Pricing | undefined, batch: readonly ProviderEvent[]) => {
    const last = lastOf(new Meter(pricing, 7n), ...batch)
    return [last.costNanos, last.outputCostNanos, last.costKnown]
  }
  assert.deepEqual(said(free, events), [0n, 0n, true])
  assert.deepEqual(said(undefined, events), [7n, 5n, true])
  assert.deepEqual(said({ ...free, listed: true }, events), [7n, 5n, true])
  assert.deepEqual(said({ ...free, listed: true }, [report(usual), finished]), [0n, 0n, true])
  assert.deepEqual(said(undefined, [report(usual), finished]), [0n, 0n, false])
})

test('a tier without a price makes the cost an estimate, marked as one; what the provider reports takes precedence', () => {
  const nanos = { inputNanos: 1_000_000n, outputNanos: 1_000_000n, cacheReadNanos: 1_000_000n }
  const pricing = create(PricingSchema, nanos)
  const tiers = { pricePercent: 250, tierPercents: new Map(Object.entries({ priority: 250, flex: 50 })) }
  const cost = { nanos: 7n, outputNanos: 5n }
  const said = (factors: CostFactors, tier: string | undefined, more: Omit<ReportedUsage, 'usage'> = {}) => {
    const served = event({ case: 'finished', value: { ...end, serviceTier: tier } })
    const last = lastOf(new Meter(pricing, 7n, factors), report(usual, more), served)
    return [last.costNanos, last.costKnown]
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
