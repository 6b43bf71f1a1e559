import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { type Part, PricingSchema, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { generationRequest, message, part, type RequestInit } from '#test/support/generation.ts'
import { maxCostOf } from './max-cost.ts'

const pricing = create(PricingSchema, { inputNanos: 1n, outputNanos: 2n, cacheReadNanos: 1n, cacheWriteNanos: 1n })
const messages = [{ role: Role.USER, parts: [part('text', { text: 'x'.repeat(3_000) })] }] as const

test('a request without a maximum may have the output that its provider is sent, else what the model gives, and what fits', () => {
  for (const [modelId, limits, sent, outputTokens] of [
    ['nobody-knows', {}, undefined, 32_768n],
    ['nobody-knows', { outputLimit: 200_000 }, undefined, 200_000n],
    ['nobody-knows', { outputLimit: 1_000 }, 32_000, 1_000n],
    ['nobody-knows', {}, 201_024, 201_024n],
    ['nobody-knows', { contextLength: 20_000 }, undefined, 18_996n],
    ['nobody-knows', { contextLength: 1_000 }, undefined, 4_096n],
    ['gpt-4o-2024-08-06', {}, undefined, 16_384n],
    ['openai/gpt-4o', { contextLength: 128_000 }, undefined, 16_384n],
    ['gpt-5.1', {}, undefined, 128_000n],
    ['gpt-5-chat-latest', {}, undefined, 16_384n],
    ['gpt-4', { contextLength: 8_192 }, undefined, 7_188n],
    ['claude-3-opus-20240229', {}, 32_000, 4_096n],
    ['claude-opus-4-1', {}, 201_024, 32_000n],
    ['anthropic/claude-opus-4.1', {}, undefined, 32_000n],
    ['us.anthropic.claude-opus-4-20250514-v1:0', {}, undefined, 32_000n],
    ['anthropic/claude-3.5-haiku', {}, undefined, 8_192n],
    ['claude-opus-4-5-20251101', {}, undefined, 64_000n],
    ['deepseek-chat', {}, undefined, 8_192n],
    ['claude-opus-4-6', {}, 201_024, 128_000n],
    ['gpt-4o', { outputLimit: 8_000 }, undefined, 8_000n],
  ] as const) {
    const endpoint = { providerId: 'p', modelId, pricing, ...limits }
    const maxCost = maxCostOf(generationRequest({ messages }), endpoint, { outputTokens: sent })
    assert.deepEqual([maxCost.outputTokens, maxCost.isFixed], [outputTokens, false], modelId)
    const fixed = maxCostOf(generationRequest({ messages, maxOutputTokens: 99_999 }), endpoint, {})
    assert.deepEqual([fixed.outputTokens, fixed.isFixed], [99_999n, true])
  }
})

const served = {
  ...{ providerId: 'p', modelId: 'm', contextLength: 200_000 },
  pricing: create(PricingSchema, { inputNanos: 1_000_000n, outputNanos: 2_000_000n, cacheWriteNanos: 1_250_000n }),
}

test('the maximum cost uses the highest prices that may apply: of writing to a cache, also for an hour, and of a tier', () => {
  for (const [factors, inputNanos, outputNanos] of [
    [{}, 1_250_000n, 2_000_000n],
    [{ cachesLong: true }, 2_000_000n, 2_000_000n],
    [{ pricePercent: 250 }, 3_125_000n, 5_000_000n],
    [{ pricePercent: 50 }, 1_250_000n, 2_000_000n],
  ] as const) {
    assert.deepEqual(maxCostOf(generationRequest(), served, factors).prices, { inputNanos, outputNanos })
  }
  const listed = { ...served.pricing, longCacheWriteNanos: 3_000_000n }
  const { prices } = maxCostOf(generationRequest(), { ...served, pricing: listed }, { cachesLong: true })
  assert.equal(prices?.inputNanos, 3_000_000n)
})

test('unknown amounts of media, and of tools that read by themselves, are reserved at their documented maximum', () => {
  const url = 'https://example.com/a'
  const hosted = (definition: object) => ({ hostedTools: [{ format: 'f', definition: { type: 'x', ...definition } }] })
  const media = (...parts: Part[]): RequestInit => ({ messages: [message(Role.USER, ...parts)] })
  const extraOf = (more: RequestInit, modelId = 'm') =>
    maxCostOf(generationRequest(more), { ...served, modelId }, { format: 'f' }).extraNanos
  // At 1.25 nano-dollars per token of input, 2 per token of output, and a cent per search.
  for (const [more, extra] of [
    [{}, undefined],
    [media(part('image', { source: { case: 'url', value: url } })), 10_500n],
    [media(part('file', { source: { case: 'data', value: new Uint8Array(90) } })), undefined],
    [media(part('file', { source: { case: 'url', value: url } })), ((200_000n - 30_004n) * 5n) / 4n],
    [media(part('foreign', { format: 'f', item: { type: 'document', source: { type: 'url', url } } })), 249_964n],
    [{ prediction: 'x'.repeat(300) }, 200n],
    [hosted({ type: 'bash_20250124' }), undefined],
    [hosted({ type: 'web_fetch_20250910', max_uses: 2 }), 25_000n],
    [hosted({ type: 'web_search_20250305', max_uses: 2 }), 25_000n + 20_000_000n],
    [hosted({ type: 'web_search' }), 125_000n + 100_000_000n],
    [hosted({ type: 'file_search' }), 125_000n + 100_000_000n],
    [{ extensions: [{ format: 'f', headers: {}, body: { mcp_servers: [{}, {}] } }] }, 250_000n],
  ] as [RequestInit, bigint | undefined][]) {
    assert.equal(extraOf(more), extra, JSON.stringify(more))
  }
  assert.equal(
    extraOf(media(part('image', { source: { case: 'url', value: url } })), 'gpt-4o-mini'),
    ((48_169n - 1_600n) * 5n + 3n) / 4n,
  )
})

test('content for another kind of provider is neither reserved for nor counted as input', () => {
  const plain = maxCostOf(generationRequest({ messages }), served, {})
  const hostedTools = [{ format: 'f', definition: { type: 'web_search' } }]
  const extensions = [{ format: 'f', headers: {}, body: { mcp_servers: [{ url: 'https://example.com' }] } }]
  const more = generationRequest({ messages, hostedTools, extensions })
  for (const format of [undefined, 'other']) assert.deepEqual(maxCostOf(more, served, { format }), plain)
  const own = maxCostOf(more, served, { format: 'f' })
  assert.deepEqual([own.inputTokens > plain.inputTokens, (own.extraNanos ?? 0n) > 0n], [true, true])
})
