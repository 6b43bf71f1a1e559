import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Rejection } from '#shared/rejection.ts'
import { type FlatEvent, flat } from '#test/support/generation.ts'
import { fixture } from '#test/support/provider-stub.ts'
import { AnthropicMapper } from '../anthropic/mapper.ts'
import { OpenaiMapper } from '../openai/mapper.ts'
import { ResponsesMapper } from '../openai-responses/mapper.ts'
import { type ProviderMapper, streamedAnswer } from './provider-call.ts'
import type { ResponseReader } from './response-reader.ts'
import { SseReader } from './sse-reader.ts'

/** A response that arrives in these pieces, one for each read. */
function readerOf(pieces: readonly Buffer[]): ResponseReader {
  const left = [...pieces]
  const read = async () => (left.length === 0 ? undefined : [left.shift() ?? assert.fail()])
  return { read, release() {}, close() {} } as unknown as ResponseReader
}

const { signal } = new AbortController()
const upstream = { withoutSecrets: (error: unknown) => error }

async function dataOf(pieces: readonly Buffer[]): Promise<string[]> {
  const reader = new SseReader(readerOf(pieces), 'p')
  const data: string[] = []
  for (let next = await reader.next(); next !== undefined; next = await reader.next()) data.push(...next)
  return data
}

async function eventsOf(pieces: readonly Buffer[], mapper: ProviderMapper): Promise<FlatEvent[]> {
  const events: FlatEvent[] = []
  for await (const batch of streamedAnswer({
    providerId: 'p',
    send: async () => readerOf(pieces),
    mapper,
    signal,
    upstream,
    request: { maxOutputTokens: undefined, endsAtOverflow: false },
  }))
    events.push(...flat(batch))
  return events
}

test('a stream may be cut at every byte', async () => {
  for (const newline of ['\n', '\r\n', '\r']) {
    const bytes = Buffer.from(fixture('openai-text.sse').replaceAll('\n', newline))
    const whole = await dataOf([bytes])
    assert.equal(whole.length, 6)
    for (let at = 0; at <= bytes.length; at++) {
      assert.deepEqual(await dataOf([bytes.subarray(0, at), bytes.subarray(at)]), whole)
    }
  }
})

test('a stream may come byte by byte', async () => {
  const text = fixture('anthropic-tools.sse')
  const bytes = Buffer.from(text)
  const expected = await eventsOf([bytes], new AnthropicMapper('p', []))
  assert.deepEqual(
    await eventsOf(
      Array.from(bytes, (byte) => Buffer.of(byte)),
      new AnthropicMapper('p', []),
    ),
    expected,
  )
})

test('the events of one read are one batch', async () => {
  const batches: (readonly FlatEvent[])[] = []
  const half = Buffer.from(fixture('openai-tools.sse'))
  const reader = readerOf([half.subarray(0, 900), half.subarray(900)])
  for await (const batch of streamedAnswer({
    providerId: 'p',
    send: async () => reader,
    mapper: new OpenaiMapper('p', []),
    signal,
    upstream,
    request: { maxOutputTokens: undefined, endsAtOverflow: false },
  }))
    batches.push(flat(batch))
  assert.equal(batches.length, 2)
})

const words = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom('', 'stop', 'error', 'tool_use', 'text', 'thinking', 'call_1', 'call_2', 'list'),
)
const leaf = fc.oneof(words, fc.integer({ min: -2, max: 3 }), fc.boolean(), fc.constant(null))
const names = fc.constantFrom(
  ...['index', 'id', 'type', 'function', 'name', 'arguments', 'content', 'reasoning', 'refusal', 'text', 'thinking'],
  ...['tool_calls', 'images', 'image_url', 'url', 'reasoning_details', 'signature', 'data', 'delta', 'finish_reason'],
  ...['content_block', 'partial_json', 'usage', 'prompt_tokens', 'completion_tokens', 'input_tokens', 'stop_reason'],
)
const { any } = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('any'), { maxLength: 3 }), fc.dictionary(names, tie('any'))),
}))
const openaiChunk = fc.record(
  { choices: fc.oneof(fc.array(fc.record({ delta: fc.dictionary(names, any), finish_reason: any })), any), usage: any },
  { requiredKeys: [] },
)
const types = ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta']
const anthropicEvent = fc.record(
  {
    type: fc.constantFrom(...types, 'message_stop', 'ping'),
    index: any,
    delta: any,
    content_block: any,
    message: any,
    usage: any,
  },
  { requiredKeys: ['type'] },
)

const responsesEvent = fc.record(
  {
    type: fc
      .constantFrom(
        ...['created', 'completed', 'incomplete', 'failed', 'output_item.added', 'output_item.done'],
        ...['output_text.delta', 'refusal.delta', 'reasoning_text.delta', 'reasoning_summary_text.delta'],
        ...['reasoning_summary_part.added', 'function_call_arguments.delta', 'custom_tool_call_input.delta'],
        'output_text.annotation.added',
      )
      .map((type) => `response.${type}`),
    output_index: fc.oneof(fc.integer({ min: 0, max: 2 }), any),
    content_index: any,
    item: fc.record(
      {
        type: fc.constantFrom('message', 'reasoning', 'function_call', 'custom_tool_call', 'web_search_call'),
        ...{ content: any, summary: any, name: words, call_id: words, encrypted_content: words, arguments: words },
      },
      { requiredKeys: ['type'] },
    ),
    delta: words,
    annotation: any,
    response: fc.record({ status: fc.constantFrom('completed', 'failed', 'x'), usage: any, output: any }),
  },
  { requiredKeys: ['type'] },
)

for (const [name, chunk, open] of [
  ['chat completions', openaiChunk, () => new OpenaiMapper('p', [])],
  ['messages', anthropicEvent, () => new AnthropicMapper('p', [])],
  ['responses', responsesEvent, () => new ResponsesMapper('p', [])],
] as const) {
  test(`every answer of a server of ${name} becomes events in order, or a rejection`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(chunk as fc.Arbitrary<unknown>, { maxLength: 8 }), async (chunks) => {
        const text = chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')
        const events: FlatEvent[] = []
        try {
          const reader = readerOf([Buffer.from(`${text}data: [DONE]\n\n`)])
          for await (const batch of streamedAnswer({
            providerId: 'p',
            send: async () => reader,
            mapper: open(),
            signal,
            upstream,
            request: { maxOutputTokens: undefined, endsAtOverflow: false },
          }))
            events.push(...flat(batch))
        } catch (error) {
          assert.ok(error instanceof Rejection, String(error))
          events.push({ case: 'finished' } as FlatEvent)
        }
        assertOrder(events)
      }),
      { numRuns: 300 },
    )
  })
}

test('chunks that differ only in their text are read as if each was parsed', async () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('a', '"', '\\', '"}}]}', '\n', '","role":"'))
  const usual = (content: string): unknown => ({ id: 'a', choices: [{ delta: { content }, finish_reason: null }] })
  const thinking = (reasoning: string): unknown => ({ choices: [{ delta: { reasoning } }] })
  const shape = fc.constantFrom(
    usual,
    (content: string): unknown => ({
      choices: [{ delta: { role: 'assistant', content, refusal: null } }],
      usage: null,
    }),
    (content: string): unknown => ({ choices: [{ delta: { content, reasoning: 'content' } }] }),
    thinking,
    (content: string): unknown => ({ content, choices: [{ delta: { content } }] }),
    (content: string): unknown => ({ choices: [{ delta: { content } }], usage: { prompt_tokens: 1 } }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(shape, text), { maxLength: 20 }), async (chunks) => {
      const data = chunks.map(([make, content]) => JSON.stringify(make(content)))
      const stream = new OpenaiMapper('p', [])
      for (const chunk of data) stream.push(chunk)
      // White space that the learned chunk lacks prevents any chunk from matching it.
      const parsed = new OpenaiMapper('p', [])
      for (const [i, chunk] of data.entries()) parsed.push(`${' '.repeat(i % 2)}${' '.repeat(2 * i)}${chunk}`)
      assert.deepEqual(stream.take(), parsed.take())
    }),
    // An empty text after a part of another kind begins no part.
    {
      numRuns: 300,
      examples: [
        [
          [
            [usual, 'a'],
            [thinking, 'b'],
            [usual, ''],
          ],
        ],
      ],
    },
  )
})

/**
 * Events come in order: parts begin first, are numbered and stay within their bounds, their whole text is the sum of
 * their deltas, and nothing follows the end.
 */
function assertOrder(events: readonly FlatEvent[]): void {
  const open = new Map<number, string>()
  let next = 0
  for (const [i, event] of events.entries()) {
    if (event.case === 'finished') assert.equal(i, events.length - 1)
    if (event.case === 'partStarted') {
      assert.equal(event.index, next++)
      open.set(event.index, '')
    }
    if (event.case === 'partExtended') {
      assert.notEqual(event.text, '')
      open.set(event.index, (open.get(event.index) ?? assert.fail()) + event.text)
    }
    if (event.case === 'partEnded') {
      const text = open.get(event.index) ?? assert.fail()
      open.delete(event.index)
      const { part } = event
      if (part.case === 'text' || part.case === 'refusal') assert.equal(part.text ?? '', text)
      if (part.case === 'toolCall') assert.equal(part.arguments ?? '', text)
    }
  }
}
