import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { type FlatEvent, flat } from '#test/support/generation.ts'
import { fixture } from '#test/support/provider-stub.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { ResponsesMapper } from './mapper.ts'

function streamed(text: string): FlatEvent[] {
  const mapper = new ResponsesMapper('p', [])
  for (const line of text.split('\n')) if (line.startsWith('data: ')) mapper.push(line.slice('data: '.length))
  mapper.end()
  return flat(mapper.take())
}

const said = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}`).join('\n')

test('a thought keeps its encrypted form, parallel calls are streamed, and an item of OpenAI’s own stays unchanged', () => {
  const format = 'openai-responses-v1'
  const summary = '**Looking**\n\nI list it.\n\n**Patching**'
  const search = { type: 'search', query: 'leases' }
  const item = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: search }
  assert.deepEqual(streamed(fixture('responses-tools.sse')), [
    { case: 'started' },
    { case: 'partStarted', index: 0, kind: Kind.REASONING_SUMMARY },
    { case: 'partExtended', index: 0, text: '**Looking**\n\nI ' },
    { case: 'partExtended', index: 0, text: 'list it.' },
    { case: 'partExtended', index: 0, text: '\n\n' },
    { case: 'partExtended', index: 0, text: '**Patching**' },
    { case: 'partEnded', index: 0, part: { case: 'reasoning', summary, encrypted: 'gAAAA==', id: 'rs_1', format } },
    { case: 'partStarted', index: 1, kind: Kind.FOREIGN },
    { case: 'partEnded', index: 1, part: { case: 'foreign', format, item } },
    {
      case: 'partStarted',
      index: 2,
      kind: Kind.TOOL_CALL,
      toolCall: { callId: 'call_A', name: 'list', namespace: 'files' },
    },
    { case: 'partExtended', index: 2, text: '{"path"' },
    {
      case: 'partStarted',
      index: 3,
      kind: Kind.TOOL_CALL,
      toolCall: { callId: 'call_B', name: 'apply_patch', custom: true },
    },
    { case: 'partExtended', index: 3, text: '*** Begin' },
    { case: 'partExtended', index: 2, text: ':"."}' },
    {
      ...{ case: 'partEnded', index: 2 },
      part: { case: 'toolCall', callId: 'call_A', name: 'list', arguments: '{"path":"."}', namespace: 'files' },
    },
    { case: 'partExtended', index: 3, text: ' Patch' },
    {
      ...{ case: 'partEnded', index: 3 },
      part: { case: 'toolCall', callId: 'call_B', name: 'apply_patch', arguments: '*** Begin Patch', custom: true },
    },
    {
      case: 'usage',
      usage: {
        ...{ inputTokens: 81n, outputTokens: 60n, cacheReadTokens: 64n, cacheWriteTokens: 5n, reasoningTokens: 32n },
      },
      billed: { webSearches: 1n },
    },
    { case: 'finished', reason: FinishReason.TOOL_CALLS, rawReason: 'completed', serviceTier: 'default' },
  ])
})

test('text comes with log probabilities and annotations, a refusal and a picture as parts of their own, and a limit as its reason', () => {
  const events = streamed(fixture('responses-text.sse'))
  const token = (token: string, logProbability: number, tokenBytes: Uint8Array) => {
    const other = { token: 'X', logProbability: -9.5, tokenBytes: Uint8Array.of(88) }
    const own = { token, logProbability, tokenBytes }
    return { ...own, alternatives: [{ ...own }, other] }
  }
  assert.deepEqual(
    events.filter(({ case: name }) => name === 'partExtended'),
    [
      {
        ...{ case: 'partExtended', index: 0, text: 'Leases ' },
        logProbabilities: [token('Leases ', -0.25, Uint8Array.from(Buffer.from('Leases ')))],
      },
      {
        ...{ case: 'partExtended', index: 0, text: 'end.' },
        logProbabilities: [token('end.', -0.5, Uint8Array.from(Buffer.from('end.')))],
      },
      { case: 'partExtended', index: 1, text: 'No more.' },
    ],
  )
  assert.deepEqual(
    events.filter((event) => event.case === 'source'),
    [
      { case: 'source', partIndex: 0, url: 'https://example.com/lease', title: 'Leases', start: 0, end: 6 },
      { case: 'source', partIndex: 0, start: 3, fileId: 'file_1', fileName: 'a.md' },
    ],
  )
  assert.deepEqual(
    events.flatMap((event) => (event.case === 'partEnded' ? [event.part.case] : [])),
    ['text', 'refusal', 'image'],
  )
  const last = { case: 'finished', reason: FinishReason.LENGTH, rawReason: 'max_output_tokens', serviceTier: 'default' }
  assert.deepEqual(events.at(-1), last)
})

test('a server that streams no items is read from its last event, and one that streams deltas alone from them', () => {
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }]
  const end = (more: object) => ({ type: 'response.completed', response: { status: 'completed', ...more } })
  const delta = { type: 'response.output_text.delta', item_id: 'm', delta: 'Hi' }
  for (const text of [said(end({ output })), said(delta, end({ output })), said(delta, end({}))]) {
    const parts = streamed(text).flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
    assert.deepEqual(parts, [{ case: 'text', text: 'Hi' }])
  }
})

test('a message has its phase, streamed and whole', () => {
  const item = { type: 'message', role: 'assistant', phase: 'commentary', content: [] }
  const content = [{ type: 'output_text', text: 'Hi' }]
  const end = { type: 'response.completed', response: { status: 'completed' } }
  for (const text of [
    said(
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, content } },
      end,
    ),
    said({ ...end, response: { status: 'completed', output: [{ ...item, content }] } }),
  ]) {
    const [, start, , last] = streamed(text)
    assert.deepEqual(start, { case: 'partStarted', index: 0, kind: Kind.TEXT, phase: 'commentary' })
    assert.deepEqual(last, { case: 'partEnded', index: 0, part: { case: 'text', text: 'Hi', phase: 'commentary' } })
  }
})

test('deltas that are read without parsing give the same result, whatever comes between them', () => {
  const texts = ['Hi', ' there', '\n', '"quoted"', 'é\\', ' end', '', ' {"delta":"x"}', '.']
  const deltaOf = (index: number, delta: string, number: number, more: object = {}) => ({
    ...{ type: 'response.output_text.delta', sequence_number: number, item_id: `m${index}`, output_index: index },
    ...{ content_index: 0, delta, logprobs: [], obfuscation: 'x'.repeat(number % 7), ...more },
  })
  const callOf = (index: number, delta: string, number: number) => ({
    ...{ type: 'response.function_call_arguments.delta', sequence_number: number, item_id: `f${index}` },
    ...{ output_index: index, delta },
  })
  const called = { type: 'function_call', call_id: 'c', name: 'f' }
  const events = [
    { type: 'response.output_item.added', output_index: 1, item: called },
    ...texts.flatMap((text, i) => [
      deltaOf(0, text, i * 9),
      deltaOf(0, text, i * 9 + 1),
      callOf(1, `"${text}`, i * 9 + 2),
    ]),
    ...texts.map((text, i) => callOf(1, text, 100 + i)),
    ...texts.map((text, i) => deltaOf(2, text, 200 + i)),
    { type: 'response.completed', response: { status: 'completed' } },
  ]
  const fast = streamed(said(...events))
  // White space between members, so that no two events are alike.
  const apart = events.map((event, i) => `data: ${JSON.stringify(event).replace('{', `{${' '.repeat(i)}`)}`)
  assert.deepEqual(fast, streamed(apart.join('\n')))
  const parts = fast.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
  assert.equal(Object(parts[1]).text, texts.map((text) => text + text).join(''))
  assert.equal(Object(parts[2]).text, texts.join(''))
})

test('an answer ends before a stop text, in whatever pieces it comes', () => {
  const delta = (delta: string, more: object = {}) => ({
    ...{ type: 'response.output_text.delta', output_index: 1, content_index: 0, delta, ...more },
  })
  const thought = { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'The END is near' }
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  const message = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
  const completed = (...output: object[]) => ({ type: 'response.completed', response: { status: 'completed', output } })
  const stop = ['END', 'aab', 'a\n', '']
  for (const [texts, left, met] of [
    [['One. E', 'N', 'D two'], 'One. ', 'END'],
    [['EN', 'EEND'], 'ENE', 'END'],
    [['aaaa', 'bc'], 'aa', 'aab'],
    [['x', 'a', '\n', 'more'], 'x', 'a\n'],
    [['no EN', ' aa'], 'no EN aa', undefined],
  ] as const) {
    const text = texts.join('')
    for (const events of [
      [thought, ...texts.map((text) => delta(text)), completed(call)],
      [thought, ...texts.map((text, i) => delta(text, { sequence_number: i })), completed(call)],
      [thought, delta(text), completed(call)],
      [thought, { type: 'response.output_item.done', output_index: 1, item: message(text) }, completed(call)],
      [completed({ type: 'reasoning', content: [{ text: 'The END is near' }] }, message(text), call)],
    ]) {
      const mapper = new ResponsesMapper('p', [], stop)
      for (const event of events) mapper.push(JSON.stringify(event))
      const happened = flat(mapper.take())
      const parts: { text: string }[] = []
      for (const event of happened) if (event.case === 'partEnded') parts[event.index] = Object(event.part)
      assert.deepEqual([parts[0]?.text, parts[1]?.text], ['The END is near', left])
      const grown = happened.flatMap((event) =>
        event.case === 'partExtended' && event.index === 1 ? [event.text] : [],
      )
      assert.equal(grown.join(''), left)
      const { reason, stopText } = Object(happened.at(-1))
      // Without items of their own, those of the last event are ignored.
      const calls = met === undefined && parts.length > 2
      assert.deepEqual([reason, stopText], [calls ? FinishReason.TOOL_CALLS : FinishReason.STOP, met])
      if (met !== undefined) assert.equal(parts.length, 2)
    }
  }
})

test('log probabilities stay with the tokens that are left', () => {
  const delta = (delta: string) => ({
    ...{ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta },
    logprobs: [{ token: delta, logprob: -1, bytes: [], top_logprobs: [] }],
  })
  const mapper = new ResponsesMapper('p', [], ['END'])
  for (const text of ['One', 'EN', 'E', ' two', 'EN', 'D']) mapper.push(JSON.stringify(delta(text)))
  const grown = flat(mapper.take()).flatMap((event) => {
    return event.case === 'partExtended'
      ? [[event.text, ...(event.logProbabilities ?? []).map(({ token }) => token)]]
      : []
  })
  assert.deepEqual(grown, [
    ['One', 'One'],
    ['ENE two', 'EN', 'E', ' two'],
  ])
})

test('an answer fails with the error that it reports, wherever that stands, and an answer without its last event was cut off', () => {
  const failed = (error: object) => said({ type: 'response.failed', response: { status: 'failed', error } })
  for (const [text, reason, code] of [
    [failed({ code: 'server_error', message: 'M' }), 'PROVIDER_UNAVAILABLE', 'server_error'],
    [failed({ code: 'rate_limit_exceeded', message: 'M' }), 'PROVIDER_RATE_LIMITED', 'rate_limit_exceeded'],
    [said({ type: 'error', code: 'invalid_prompt', message: 'M', param: null }), 'PROVIDER_REFUSED', 'invalid_prompt'],
    [said({ type: 'error', error: { type: 'invalid_request_error', code: null, message: 'M' } }), 'PROVIDER_REFUSED'],
    [said({ type: 'response.created', response: {} }), 'PROVIDER_UNAVAILABLE'],
    [said({ type: 'response.completed', response: { status: 'queued' } }), 'PROVIDER_UNAVAILABLE'],
    ['', 'PROVIDER_UNAVAILABLE'],
  ] as const) {
    assert.throws(
      () => streamed(text),
      (error) => {
        reasonOfRejection(reason)(error)
        if (code !== undefined) assert.equal(Object(error).metadata.code, code)
        return true
      },
    )
  }
})

test('calls of the provider’s own tools are billed by kind; opening a page is not a search', () => {
  const items: JsonObject[] = [
    { type: 'web_search_call', action: { type: 'search' } },
    { type: 'web_search_call', action: { type: 'open_page' } },
    { type: 'web_search_call' },
    { type: 'file_search_call' },
    { type: 'code_interpreter_call' },
  ]
  const mapper = new ResponsesMapper('p', [])
  mapper.whole({ status: 'completed', output: items, usage: { input_tokens: 1, output_tokens: 1 } })
  const billed = flat(mapper.take()).flatMap((event) => (event.case === 'usage' ? [event.billed] : []))
  assert.deepEqual(billed, [{ webSearches: 2n, fileSearches: 1n, otherTools: true }])
})
