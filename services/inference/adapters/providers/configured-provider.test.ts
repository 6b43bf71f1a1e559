import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { FinishReason, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import { Rejection } from '#shared/rejection.ts'
import { eventsOf, type FlatEvent, generationRequest, part, wholeEventsOf } from '#test/support/generation.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { silentLogger } from '#test/support/transports.ts'
import { ProviderSet } from './provider-set.ts'

const { signal } = new AbortController()

async function open(config: Partial<ProviderConfig>, answer: (response: ServerResponse) => unknown) {
  const stub = await startStub(answer)
  const common = { id: 'p', protocol: 'openai', apiKey: 'secret', headers: {}, models: [] } as const
  const set = new ProviderSet([{ ...common, baseUrl: `${stub.url}/v1`, ...config }], 3_600_000, silentLogger)
  return {
    stub,
    provider: set.byId.get('p') ?? assert.fail(),
    async [Symbol.asyncDispose]() {
      await set[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

test('Azure works by configuration alone: each address has its query, and its header carries the key', async () => {
  const config = { keyHeader: 'api-key', query: 'api-version=2026-06-01' }
  await using opened = await open(config, answers(200, fixture('openai-text.json')))
  const providerHeaders = { 'Api-Key': 'stolen' }
  await wholeEventsOf(opened.provider, { providerHeaders })
  const [seen] = opened.stub.seen
  assert.equal(seen?.path, '/v1/chat/completions?api-version=2026-06-01')
  assert.deepEqual([seen?.headers['api-key'], seen?.headers.authorization], ['secret', undefined])
})

test('a provider with alwaysStream is always called for a stream, from which a whole answer is made', async () => {
  for (const [protocol, name] of [
    ['openai', 'openai-text'],
    ['openai-responses', 'responses-text'],
    ['anthropic', 'anthropic-tools'],
  ] as const) {
    await using streamed = await open({ protocol, alwaysStream: true }, streams(fixture(`${name}.sse`)))
    await using plain = await open({ protocol }, streams(fixture(`${name}.sse`)))
    const events = await wholeEventsOf(streamed.provider)
    assert.equal(Object(streamed.stub.seen[0]?.body).stream, true)
    assert.deepEqual(events, await eventsOf(plain.provider))
  }
})

test('a setting places caching markers for requests without any, and leaves those of others alone', async () => {
  const user = (cache?: { ttl?: string }) => [
    { role: Role.USER, parts: [part('text', { text: 'a' })] } as const,
    { role: Role.USER, parts: [part('text', { text: 'b' }, { cacheControl: cache })] } as const,
  ]
  for (const [messages, ttl] of [
    [user(), { ttl: '1h' }],
    [user({}), {}],
  ] as const) {
    const config = { protocol: 'anthropic', cache: '1h' } as const
    await using opened = await open(config, streams(fixture('anthropic-tools.sse')))
    await eventsOf(opened.provider, { messages })
    const blocks = Object(opened.stub.seen[0]?.body).messages[0].content
    const marker = { cache_control: { type: 'ephemeral', ...ttl } }
    assert.deepEqual(blocks, [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', ...marker },
    ])
  }
})

test('thoughts go back as `reasoning_content` to those that want it, and to nobody else', async () => {
  const parts = [
    part('reasoning', { text: 'Hm.' }),
    part('reasoning', { text: 'secret', signature: 'sig', format: 'anthropic-claude-v1' }),
    part('text', { text: 'Yes' }),
  ] as const
  for (const reasoningContent of [true, false]) {
    await using opened = await open({ reasoningContent }, streams(fixture('openai-text.sse')))
    const [started] = await eventsOf(opened.provider, { messages: [{ role: Role.ASSISTANT, parts }] })
    const [message] = Object(opened.stub.seen[0]?.body).messages
    const back = reasoningContent ? { reasoning_content: 'Hm.' } : {}
    assert.deepEqual(message, { role: 'assistant', content: 'Yes', ...back })
    assert.ok(started?.case === 'started' && started.warnings.length > 0)
  }
})

const errors = [
  ['openai', 400, { error: { code: 'context_length_exceeded', message: 'M' } }],
  ['openai', 400, { error: { code: 400, message: "This model's maximum context length is 8192 tokens." } }],
  ['openai', 413, { error: { message: 'Please reduce the length of the messages or completion.' } }],
  ['openai-responses', 400, { error: { code: 'context_length_exceeded', message: 'M' } }],
  ['anthropic', 400, { error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 5 maximum' } }],
] as const

test('a conversation that is too long ends a stream because of its length where the request says so, and is an error otherwise', async () => {
  for (const [protocol, status, body] of errors) {
    await using opened = await open({ protocol }, answers(status, body))
    const expected = [
      { case: 'started' },
      { case: 'finished', reason: FinishReason.LENGTH, rawReason: 'context_length_exceeded' },
    ]
    const kept = (events: readonly FlatEvent[]) => events.filter(({ case: name }) => name !== 'usage')
    assert.deepEqual(kept(await eventsOf(opened.provider, { endsAtOverflow: true })), expected)
    const tooLong = (error: unknown): boolean =>
      error instanceof Rejection &&
      error.metadata.error_type === 'context_length_exceeded' &&
      error.metadata.overflow === 'true'
    await assert.rejects(wholeEventsOf(opened.provider, { endsAtOverflow: true }), tooLong)
    await assert.rejects(eventsOf(opened.provider), tooLong)
  }
})

test('keeps a refusal that is not about the length of the context', async () => {
  await using opened = await open({}, answers(400, { error: { message: 'max_tokens is too large: 900000' } }))
  await assert.rejects(eventsOf(opened.provider), { reason: 'PROVIDER_REFUSED' })
})

test('keeps the text of an answer that overflows the context in the middle of its stream', async () => {
  const said = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const error = { code: 'context_length_exceeded', message: 'M' }
  for (const [protocol, text] of [
    ['openai', said({ choices: [{ delta: { content: 'Hi' } }] }, { error })],
    [
      'openai-responses',
      said(
        { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' },
        { type: 'response.failed', response: { status: 'failed', error } },
      ),
    ],
    [
      'anthropic',
      said(
        { type: 'message_start', message: {} },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
        { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } },
      ),
    ],
  ] as const) {
    await using opened = await open({ protocol }, streams(text))
    const events = await eventsOf(opened.provider, { endsAtOverflow: true })
    const ended = events.find(({ case: name }) => name === 'partEnded')
    assert.deepEqual(ended, { case: 'partEnded', index: 0, part: { case: 'text', text: 'Hi' } })
    assert.deepEqual(events.at(-1), {
      case: 'finished',
      reason: FinishReason.LENGTH,
      rawReason: 'context_length_exceeded',
    })
    // A collected stream has the same result as a whole answer.
    await assert.rejects(wholeEventsOf(opened.provider), { reason: 'PROVIDER_REFUSED' })
  }
})

test('a provider in any configuration counts tokens where its API can, and reports what changes the cost of a request', async () => {
  for (const config of [{}, { alwaysStream: true }, { cache: '1h' as const }]) {
    await using opened = await open({ protocol: 'anthropic', ...config }, answers(200, { input_tokens: 42 }))
    assert.equal(await opened.provider.countTokens?.(generationRequest(), signal), 42n)
    const factors = opened.provider.costFactors?.(generationRequest({ reasoning: { maxTokens: 40_000 } }))
    assert.deepEqual([factors?.outputTokens, factors?.cachesLong], [41_024, 'cache' in config])
  }
})

test('a provider gets the hosted tools and extensions of its own kind, and says so', async () => {
  for (const [protocol, format] of [
    ['anthropic', 'anthropic-claude-v1'],
    ['openai-responses', 'openai-responses-v1'],
    ['openai', undefined],
  ] as const) {
    await using opened = await open({ protocol }, answers(200, {}))
    assert.equal(opened.provider.costFactors?.(generationRequest())?.format, format)
  }
})
