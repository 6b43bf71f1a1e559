import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PricingSchema, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { generationRequest, part, type RequestInit } from '#test/support/generation.ts'
import { hasRoom, unmetDemands } from './demands.ts'

const prices = { inputNanos: 2n, outputNanos: 3n }
const pricing = create(PricingSchema, prices)
const open = { collects: false, retainsNothing: true, distillable: true, quantization: 'fp8' }
const endpoint = { providerId: 'openai', modelId: 'a', pricing, policy: open, without: ['sampling.seed'] } as const

test('an endpoint is held to each demand, and an unknown property does not meet one', () => {
  const unknown = { providerId: 'openai', modelId: 'a', pricing: undefined }
  for (const [demand, met, unmet] of [
    [{ only: ['other', 'OpenAI'] }, true, []],
    [{ only: ['other'] }, false, ['only']],
    [{ ignore: ['openai'] }, false, ['ignore']],
    [{ ignore: ['openai-eu'] }, true, []],
    [{ denyDataCollection: true }, true, ['data_collection']],
    [{ zeroDataRetention: true }, true, ['zdr']],
    [{ enforceDistillableText: true }, true, ['enforce_distillable_text']],
    [{ quantizations: ['fp8', 'fp16'] }, true, ['quantizations']],
    [{ quantizations: ['unknown'] }, false, []],
    [{ maxInputNanos: 2n, maxOutputNanos: 3n }, true, ['max_price']],
    [{ maxInputNanos: 1n }, false, ['max_price']],
    [{ maxOutputNanos: 2n }, false, ['max_price']],
    [{ requireParameters: true, preferences: ['sort'] }, true, []],
  ] as const) {
    const request = generationRequest({ routing: demand as NonNullable<RequestInit['routing']> })
    const name = Object.keys(demand).join()
    assert.equal(unmetDemands(endpoint, request).length === 0, met, name)
    assert.deepEqual(unmetDemands(unknown, request), unmet, name)
  }
})

test('the price of long inputs is compared with the maximum price for a long input', () => {
  const long = [{ aboveTokens: 900n, pricing: { inputNanos: 4n, outputNanos: 6n } }]
  const tiered = { ...endpoint, pricing: create(PricingSchema, { ...prices, long }) }
  for (const [length, demand, unmet] of [
    [2_000, { maxInputNanos: 2n, maxOutputNanos: 3n }, []],
    [3_000, { maxInputNanos: 3n }, ['max_price']],
    [3_000, { maxOutputNanos: 5n }, ['max_price']],
    [3_000, { maxInputNanos: 4n, maxOutputNanos: 6n }, []],
  ] as const) {
    const messages = [{ role: Role.USER, parts: [part('text', { text: 'x'.repeat(length) })] }] as const
    const request = generationRequest({ messages, routing: demand as NonNullable<RequestInit['routing']> })
    assert.deepEqual(unmetDemands(tiered, request), unmet, String(length))
  }
})

test('an endpoint that would pass over a setting does not serve a request that requires its parameters', () => {
  const none = { temperature: undefined, topP: undefined, topK: undefined }
  const penalties = { frequencyPenalty: undefined, presencePenalty: undefined }
  const sampling = { ...none, ...penalties, seed: 1n, stop: [] }
  const requires = generationRequest({ routing: { requireParameters: true }, sampling })
  assert.deepEqual(unmetDemands(endpoint, requires), ['require_parameters'])
  assert.deepEqual(unmetDemands({ ...endpoint, without: ['sampling.top_k'] }, requires), [])
  assert.deepEqual(unmetDemands(endpoint, generationRequest({ sampling })), [])
})

test('an endpoint is not used for more output than its limit, and has room only for an input and output that fit its context', () => {
  const small = { providerId: 'p', modelId: 'm', pricing, contextLength: 1_000, outputLimit: 200 }
  const unmet = (limits: object, maxOutputTokens: number | undefined) =>
    unmetDemands({ ...small, ...limits }, generationRequest({ maxOutputTokens }))
  assert.deepEqual([unmet({}, 200), unmet({}, undefined), unmet({}, 201)], [[], [], ['max_tokens']])
  assert.deepEqual(unmet({ outputLimit: undefined }, 1_001), ['max_tokens'])
  assert.deepEqual(unmet({ outputLimit: undefined, contextLength: undefined }, 10 ** 9), [])
  const messages = [{ role: Role.USER, parts: [part('text', { text: 'x'.repeat(2_700) })] }] as const
  for (const [maxOutputTokens, contextLength, fits] of [
    [undefined, 1_000, true],
    [90, 1_000, true],
    [100, 1_000, false],
    [100, undefined, true],
    [undefined, 900, false],
  ] as const) {
    assert.equal(hasRoom({ ...small, contextLength }, generationRequest({ messages, maxOutputTokens })), fits)
  }
})
