import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GenerationRequestSchema, MediaPartSchema, SamplingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { checkLimits, limitOf } from '#shared/rpc/field-limits.ts'

test('a limit has the unit of its field, and no bound where its proto sets none', () => {
  const { requestId, maxOutputTokens, tools, origin, metadata } = GenerationRequestSchema.field
  assert.deepEqual(limitOf(requestId), { least: 1, most: 128, unit: 'characters' })
  assert.deepEqual(limitOf(maxOutputTokens), { least: 1, most: Infinity, unit: undefined })
  assert.deepEqual(limitOf(tools), { least: -Infinity, most: 1_024, unit: 'items' })
  assert.deepEqual(limitOf(MediaPartSchema.field.data), { least: -Infinity, most: 20_971_520, unit: 'bytes' })
  assert.throws(() => limitOf(origin), /sets no limit for .*origin/)
  assert.deepEqual(limitOf(metadata, 'key'), { least: -Infinity, most: 64, unit: 'characters' })
  assert.deepEqual(limitOf(metadata, 'item'), { least: -Infinity, most: 512, unit: 'characters' })
  assert.throws(() => limitOf(tools, 'item'), /sets no limit for .*tools/)
})

const invalid = (field: string, problem: string) => ({ reason: 'REQUEST_INVALID', metadata: { field, problem } })

test('the first field beyond its limit is named, with what is wrong; an absent one has no limit', () => {
  const check = checkLimits(GenerationRequestSchema)
  const given = (init: object) => create(GenerationRequestSchema, { requestId: 'r', messages: [{}], ...init })
  const headers = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, '']))
  const pair = { ['x'.repeat(64)]: '😀'.repeat(512) }
  for (const init of [{}, { user: '😀'.repeat(256) }, { providerHeaders: headers(64) }, { metadata: pair }])
    check(given(init))
  for (const [init, field, problem] of [
    [{ requestId: '' }, 'request_id', 'must not be empty'],
    [{ messages: [] }, 'messages', 'must not be empty'],
    [{ maxOutputTokens: 0 }, 'max_output_tokens', 'must be at least 1'],
    [{ user: '😀'.repeat(257) }, 'user', 'must have at most 256 characters'],
    [{ providerHeaders: headers(65) }, 'provider_headers', 'must have at most 64 items'],
    [{ metadata: { a: '', ['x'.repeat(65)]: '' } }, 'metadata', 'keys must have at most 64 characters'],
    [{ metadata: { a: '', b: 'x'.repeat(513) } }, 'metadata.b', 'must have at most 512 characters'],
  ] as const) {
    assert.throws(() => check(given(init)), invalid(field, problem))
  }
  const sampling = checkLimits(SamplingSchema)
  sampling(create(SamplingSchema, {}), 'sampling')
  const nothing = create(SamplingSchema, { temperature: Number.NaN })
  assert.throws(() => sampling(nothing, 'sampling'), invalid('sampling.temperature', 'must be at least 0'))
})

test('measures the member of a oneof that is set', () => {
  const check = checkLimits(MediaPartSchema)
  const data = (size: number) => create(MediaPartSchema, { source: { case: 'data', value: new Uint8Array(size) } })
  check(create(MediaPartSchema, { source: { case: 'url', value: 'https://e' } }))
  check(data(20_971_520))
  assert.throws(() => check(data(20_971_521)), invalid('data', 'must have at most 20971520 bytes'))
})

test('free-form data is measured as JSON', () => {
  assert.equal(limitOf(SessionSchema.field.metadata).unit, 'bytes as JSON')
  const check = checkLimits(SessionSchema)
  const given = (length: number) => create(SessionSchema, { agent: 'a', metadata: { a: 'ä'.repeat(length) } })
  check(given(32_764))
  assert.throws(() => check(given(32_765)), invalid('metadata', 'must have at most 65536 bytes as JSON'))
})
