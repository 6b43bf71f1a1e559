import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
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
  const set = new ProviderSet([config], 5_000, silentLogger)
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

const whole = (kind: 'text', text: string) => ({ case: kind, text })
const thought = { case: 'reasoning' }
const format = 'anthropic-claude-v1'

test('a text is read as deltas, the whole text, and the usage of the last chunk, which has no choice', async () => {
  await using opened = await open('openai', 'openai-text.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { case: 'started' },
    { case: 'partStarted', index: 0, kind: Kind.TEXT },
    { case: 'partExtended', index: 0, text: 'Grüße' },
    { case: 'partExtended', index: 0, text: ' 🌍!' },
    {
      case: 'usage',
      usage: {
        inputTokens: 1200n,
        outputTokens: 12n,
        cacheReadTokens: 1024n,
        cacheWriteTokens: 0n,
        reasoningTokens: 8n,
      },
    },
    { case: 'partEnded', index: 0, part: whole('text', 'Grüße 🌍!') },
    { case: 'finished', reason: FinishReason.STOP, rawReason: 'stop', serviceTier: 'default' },
  ])
})

test('several tool calls are distinguished by their index', async () => {
  await using opened = await open('openai', 'openai-tools.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { case: 'started' },
    { case: 'partStarted', index: 0, kind: Kind.TOOL_CALL, toolCall: { callId: 'call_A', name: 'list' } },
    { case: 'partExtended', index: 0, text: '{"path"' },
    { case: 'partExtended', index: 0, text: ':"."}' },
    { case: 'partStarted', index: 1, kind: Kind.TOOL_CALL, toolCall: { callId: 'call_B', name: 'read' } },
    { case: 'partExtended', index: 1, text: '{}' },
    {
      case: 'usage',
      usage: { inputTokens: 80n, outputTokens: 30n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n },
    },
    {
      case: 'partEnded',
      index: 0,
      part: { case: 'toolCall', callId: 'call_A', name: 'list', arguments: '{"path":"."}' },
    },
    { case: 'partEnded', index: 1, part: { case: 'toolCall', callId: 'call_B', name: 'read', arguments: '{}' } },
    { case: 'finished', reason: FinishReason.TOOL_CALLS, rawReason: 'tool_calls' },
  ])
})

test('OpenRouter: comments are passed over, thoughts keep their signature, pictures come whole, usage stands beside a choice', async () => {
  await using opened = await open('openrouter', 'openrouter-reasoning.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { case: 'started' },
    { case: 'partStarted', index: 0, kind: Kind.REASONING },
    { case: 'partExtended', index: 0, text: 'Let me ' },
    { case: 'partExtended', index: 0, text: 'see.' },
    { case: 'partEnded', index: 0, part: { ...thought, text: 'Let me see.', signature: 'c2ln', format } },
    { case: 'partStarted', index: 1, kind: Kind.TEXT },
    { case: 'partExtended', index: 1, text: 'Here: ' },
    { case: 'partEnded', index: 1, part: whole('text', 'Here: ') },
    { case: 'partStarted', index: 2, kind: Kind.IMAGE },
    {
      case: 'partEnded',
      index: 2,
      part: { case: 'image', source: { case: 'data', value: Buffer.from('iVBORw==', 'base64') }, mime: 'image/png' },
    },
    {
      case: 'usage',
      usage: { inputTokens: 0n, outputTokens: 5n, cacheReadTokens: 0n, cacheWriteTokens: 3n, reasoningTokens: 2n },
      cost: { nanos: 100_000n, outputNanos: 0n },
    },
    { case: 'finished', reason: FinishReason.LENGTH, rawReason: 'max_tokens' },
  ])
})

test('Ollama: calls of one index are distinguished by their id, `stop` beside calls waits for results, usage may be missing', async () => {
  await using opened = await open('ollama', 'ollama-tools.sse')
  assert.deepEqual(await eventsOf(opened.provider), [
    { case: 'started' },
    { case: 'partStarted', index: 0, kind: Kind.REASONING },
    { case: 'partExtended', index: 0, text: 'Hm.' },
    { case: 'partEnded', index: 0, part: { ...thought, text: 'Hm.' } },
    { case: 'partStarted', index: 1, kind: Kind.TOOL_CALL, toolCall: { callId: 'call_x1', name: 'list' } },
    { case: 'partExtended', index: 1, text: '{"path":"."}' },
    { case: 'partStarted', index: 2, kind: Kind.TOOL_CALL, toolCall: { callId: 'call_x2', name: 'read' } },
    { case: 'partExtended', index: 2, text: '{}' },
    {
      case: 'partEnded',
      index: 1,
      part: { case: 'toolCall', callId: 'call_x1', name: 'list', arguments: '{"path":"."}' },
    },
    { case: 'partEnded', index: 2, part: { case: 'toolCall', callId: 'call_x2', name: 'read', arguments: '{}' } },
    { case: 'finished', reason: FinishReason.TOOL_CALLS, rawReason: 'stop' },
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
