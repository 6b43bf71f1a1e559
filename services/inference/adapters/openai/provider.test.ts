import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventsOf } from '#test/support/generation.ts'
import { fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { silentLogger } from '#test/support/transports.ts'
import { ProviderSet } from '../providers/provider-set.ts'

/** A provider that calls the stub, which responds with the fixture. */
async function open(id: string, name: string) {
  const stub = await startStub(streams(fixture(name)))
  const config = {
    id,
    protocol: 'openai',
    baseUrl: `${stub.url}/v1`,
    apiKey: 'sk-secret',
    headers: {},
    models: [],
  } as const
  const set = await ProviderSet.open([config], 5_000, silentLogger)
  const provider = set.byId.get(id) ?? assert.fail()
  return {
    provider,
    stub,
    async [Symbol.asyncDispose]() {
      await set[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

const whole = (type: 'text', text: string) => ({ type, text })
const thought = { type: 'reasoning' }
const format = 'anthropic-claude-v1'

test('text: deltas, the whole text, usage from the last chunk, which has no choice', async () => {
  await using opened = await open('openai', 'openai-text.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { type: 'started', warnings: [] },
    { type: 'part-started', index: 0, kind: 'text' },
    { type: 'part-extended', index: 0, text: 'Grüße' },
    { type: 'part-extended', index: 0, text: ' 🌍!' },
    {
      type: 'usage',
      usage: {
        inputTokens: 1200n,
        outputTokens: 12n,
        cacheReadTokens: 1024n,
        cacheWriteTokens: 0n,
        reasoningTokens: 8n,
      },
    },
    { type: 'part-ended', index: 0, part: whole('text', 'Grüße 🌍!') },
    { type: 'finished', reason: 'stop', rawReason: 'stop', serviceTier: 'default' },
  ])
})

test('several tool calls are distinguished by their index', async () => {
  await using opened = await open('openai', 'openai-tools.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { type: 'started', warnings: [] },
    { type: 'part-started', index: 0, kind: 'tool-call', callId: 'call_A', toolName: 'list' },
    { type: 'part-extended', index: 0, text: '{"path"' },
    { type: 'part-extended', index: 0, text: ':"."}' },
    { type: 'part-started', index: 1, kind: 'tool-call', callId: 'call_B', toolName: 'read' },
    { type: 'part-extended', index: 1, text: '{}' },
    {
      type: 'usage',
      usage: { inputTokens: 80n, outputTokens: 30n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n },
    },
    {
      type: 'part-ended',
      index: 0,
      part: { type: 'tool-call', callId: 'call_A', name: 'list', arguments: '{"path":"."}' },
    },
    { type: 'part-ended', index: 1, part: { type: 'tool-call', callId: 'call_B', name: 'read', arguments: '{}' } },
    { type: 'finished', reason: 'tool-calls', rawReason: 'tool_calls' },
  ])
})

test('OpenRouter: comments are passed over, thoughts keep their signature, pictures come whole, usage stands beside a choice', async () => {
  await using opened = await open('openrouter', 'openrouter-reasoning.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { type: 'started', warnings: [] },
    { type: 'part-started', index: 0, kind: 'reasoning' },
    { type: 'part-extended', index: 0, text: 'Let me ' },
    { type: 'part-extended', index: 0, text: 'see.' },
    { type: 'part-ended', index: 0, part: { ...thought, text: 'Let me see.', signature: 'c2ln', format } },
    { type: 'part-started', index: 1, kind: 'text' },
    { type: 'part-extended', index: 1, text: 'Here: ' },
    { type: 'part-ended', index: 1, part: whole('text', 'Here: ') },
    { type: 'part-started', index: 2, kind: 'image' },
    {
      type: 'part-ended',
      index: 2,
      part: {
        type: 'image',
        source: { data: Buffer.from('iVBORw==', 'base64') },
        mime: 'image/png',
      },
    },
    {
      type: 'usage',
      usage: { inputTokens: 0n, outputTokens: 5n, cacheReadTokens: 0n, cacheWriteTokens: 3n, reasoningTokens: 2n },
      cost: { nanos: 100_000n, outputNanos: 0n },
    },
    { type: 'finished', reason: 'length', rawReason: 'max_tokens' },
  ])
})

test('Ollama: calls of one index are distinguished by their id, `stop` beside calls waits for results, usage may be missing', async () => {
  await using opened = await open('ollama', 'ollama-tools.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { type: 'started', warnings: [] },
    { type: 'part-started', index: 0, kind: 'reasoning' },
    { type: 'part-extended', index: 0, text: 'Hm.' },
    { type: 'part-ended', index: 0, part: { ...thought, text: 'Hm.' } },
    { type: 'part-started', index: 1, kind: 'tool-call', callId: 'call_x1', toolName: 'list' },
    { type: 'part-extended', index: 1, text: '{"path":"."}' },
    { type: 'part-started', index: 2, kind: 'tool-call', callId: 'call_x2', toolName: 'read' },
    { type: 'part-extended', index: 2, text: '{}' },
    {
      type: 'part-ended',
      index: 1,
      part: { type: 'tool-call', callId: 'call_x1', name: 'list', arguments: '{"path":"."}' },
    },
    { type: 'part-ended', index: 2, part: { type: 'tool-call', callId: 'call_x2', name: 'read', arguments: '{}' } },
    { type: 'finished', reason: 'tool-calls', rawReason: 'stop' },
  ])
})

test('the key is sent, and no header of the caller replaces it', async () => {
  await using opened = await open('openai', 'openai-text.sse')
  const providerHeaders = { 'X-Title': 'T', Authorization: 'Bearer other', Host: 'elsewhere', 'Content-Length': '1' }
  await eventsOf(opened.provider, { providerHeaders })
  const [seen] = opened.stub.seen
  assert.equal(seen?.method, 'POST')
  assert.equal(seen?.path, '/v1/chat/completions')
  const { host, connection, 'content-length': _, ...headers } = seen?.headers ?? {}
  assert.equal(host, new URL(opened.stub.url).host)
  assert.equal(connection, 'keep-alive')
  assert.deepEqual(headers, {
    'x-title': 'T',
    authorization: 'Bearer sk-secret',
    'content-type': 'application/json',
    accept: 'text/event-stream',
  })
})
