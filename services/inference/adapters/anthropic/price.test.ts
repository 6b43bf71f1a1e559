import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { flat, generationRequest, part, type RequestInit } from '#test/support/generation.ts'
import { ANTHROPIC } from './extension.ts'
import { AnthropicMapper } from './mapper.ts'
import { AnthropicProvider } from './provider.ts'

const tool = { name: 'find', parameters: { type: 'object' }, strict: undefined }

test('a request is sent with what it may be billed for: a speed, a region, a cache of an hour', () => {
  const provider = new AnthropicProvider('p', undefined as never)
  const inUs = { extensions: [{ format: ANTHROPIC, headers: {}, body: { inference_geo: 'us' } }] }
  const kept = { ttl: '1h' }
  for (const [request, pricePercent, cachesLong] of [
    [{}, undefined, false],
    [{ speed: 'fast' }, 600, false],
    [inUs, 110, false],
    [{ ...inUs, speed: 'fast' }, 660, false],
    [{ automaticCache: kept }, undefined, true],
    [
      { messages: [{ role: Role.USER, parts: [part('text', { text: 'x' }, { cacheControl: kept })] }] },
      undefined,
      true,
    ],
    [{ tools: [{ ...tool, cacheControl: kept }] }, undefined, true],
    [{ tools: [{ ...tool, cacheControl: { ttl: '5m' } }] }, undefined, false],
  ] as const) {
    const factors = provider.costFactors(generationRequest(request as RequestInit))
    assert.deepEqual([factors.pricePercent, factors.cachesLong], [pricePercent, cachesLong])
  }
})

test('the usage includes what is billed besides plain tokens', () => {
  const usage = {
    ...{ input_tokens: 1, cache_creation_input_tokens: 9, inference_geo: 'us' },
    ...{ cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 } },
    ...{ server_tool_use: { web_search_requests: 2 }, output_tokens: 1 },
  }
  const mapper = new AnthropicMapper('p', [])
  mapper.whole({ content: [{ case: 'text', text: 'x' }], stop_reason: 'end_turn', usage })
  const events = flat(mapper.take())
  const billed = events.flatMap((event) => (event.case === 'usage' ? [event.billed] : []))
  assert.deepEqual(billed, [{ longCacheWriteTokens: 5n, webSearches: 2n, pricePercent: 110 }])
})
