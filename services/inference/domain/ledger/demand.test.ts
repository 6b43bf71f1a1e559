import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generationRequest } from '#test/support/generation.ts'
import { demandOf } from './demand.ts'

const pricing = { inputNanos: 1n, outputNanos: 2n, cacheReadNanos: 1n, cacheWriteNanos: 1n }
const messages = [{ role: 'user', parts: [{ type: 'text', text: 'x'.repeat(3_000) }] }] as const

test('a request without a maximum may have the output that its provider asks for, else what the model gives, and what fits', () => {
  for (const [modelId, limits, asked, outputTokens] of [
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
    ['claude-opus-4-6', {}, 201_024, 128_000n],
    ['gpt-4o', { outputLimit: 8_000 }, undefined, 8_000n],
  ] as const) {
    const endpoint = { providerId: 'p', modelId, pricing, ...limits }
    const demand = demandOf(generationRequest({ messages }), endpoint, asked)
    assert.deepEqual([demand.outputTokens, demand.isFixed], [outputTokens, false], modelId)
    const fixed = demandOf(generationRequest({ messages, maxOutputTokens: 99_999 }), endpoint, undefined)
    assert.deepEqual([fixed.outputTokens, fixed.isFixed], [99_999n, true])
  }
})
