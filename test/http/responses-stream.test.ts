import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'
import { type Json, post, stream, textPart, usage, whole } from '#test/support/responses.ts'

const TWO_WORDS = { model: 'portico/echo', input: '/length 2' }

/** The response that a stream begins with. */
function begun(response: Json, more: Json = {}): Json {
  return whole(response, { status: 'in_progress', completed_at: null, ...more })
}

/** Numbers events in their order. */
function numbered(events: readonly Json[]): Json[] {
  return events.map((event, i) => ({ ...event, sequence_number: i }))
}

/** The stream of two words in one of the two dialects that have OpenAI's events. */
function twoWords(events: readonly Json[], both: boolean): Json[] {
  const response = events.at(both ? -2 : -1)?.response as Json
  const id = `msg_${response.id.slice(5)}_0`
  const message = { type: 'message', id, role: 'assistant' }
  const item = { ...message, status: 'completed', content: [textPart('the quick')] }
  const at = { item_id: id, output_index: 0, content_index: 0 }
  const of = { response_id: response.id, output_index: 0 }
  const delta = (text: string): Json[] => [
    { type: 'response.output_text.delta', ...at, delta: text, logprobs: [] },
    ...(both ? [{ type: 'response.content_part.delta', ...of, content_index: 0, delta: text }] : []),
  ]
  const ended = whole(response, { output: [item], output_text: 'the quick', usage: usage(2, 2) })
  return numbered([
    { type: 'response.created', response: begun(response) },
    { type: 'response.in_progress', response: begun(response) },
    { type: 'response.output_item.added', ...of, item: { ...message, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...of, ...at, part: textPart('') },
    ...delta('the '),
    ...delta('quick'),
    { type: 'response.output_text.done', ...at, text: 'the quick', logprobs: [] },
    { type: 'response.content_part.done', ...at, part: textPart('the quick') },
    { type: 'response.output_item.done', ...of, item },
    { type: 'response.completed', response: ended },
    ...(both ? [{ type: 'response.done', response: ended }] : []),
  ])
}

test('both: a client that says nothing of itself gets the events of OpenAI and of the specification', async () => {
  await using portico = await openPortico()
  const events = await stream(portico, TWO_WORDS)
  assert.deepEqual(events, twoWords(events, true))
})

test('openai: the SDKs of OpenAI get only events they know, each with its name', async () => {
  await using portico = await openPortico()
  const events = await stream(portico, TWO_WORDS, 'openai')
  assert.deepEqual(events, twoWords(events, false))
  const answer = await post(portico, { ...TWO_WORDS, stream: true }, { 'x-stainless-lang': 'js' })
  const text = await answer.text()
  assert.match(text, /^event: response\.created\ndata: \{"type":"response\.created",/)
  assert.doesNotMatch(text, /content_part\.delta|response\.done/)
})

test('specification: only its events, with exactly the members it names', async () => {
  await using portico = await openPortico()
  const events = await stream(portico, TWO_WORDS, 'specification')
  const id = events[0]?.response.id
  const at = { response_id: id, output_index: 0 }
  const message = { type: 'message', id: `msg_${id.slice(5)}_0`, role: 'assistant' }
  assert.deepEqual(events, [
    { type: 'response.created', response: { id, object: 'response', status: 'in_progress' } },
    { type: 'response.output_item.added', ...at, item: { ...message, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...at, content_index: 0, part: textPart('') },
    { type: 'response.content_part.delta', ...at, content_index: 0, delta: 'the ' },
    { type: 'response.content_part.delta', ...at, content_index: 0, delta: 'quick' },
    {
      type: 'response.output_item.done',
      ...at,
      item: { ...message, status: 'completed', content: [textPart('the quick')] },
    },
    { type: 'response.done', response: { id, object: 'response', status: 'completed', usage: usage(2, 2) } },
  ])
})

test('both: the events of the specification come in its order, with its members among them', async () => {
  await using portico = await openPortico()
  const request = { model: 'portico/echo', input: '/reasoning so it is\n/length 5' }
  const specified = await stream(portico, request, 'specification')
  const both = await stream(portico, request, 'both')
  const ids = (event: Json): Json => JSON.parse(JSON.stringify(event).replace(/(resp|msg|rs)_[0-9A-Za-z]{24}/g, '$1'))
  let at = 0
  for (const event of specified.map(ids)) {
    const found = both.slice(at).findIndex((other) => includes(ids(other), event))
    assert.ok(found >= 0, `${event.type} is missing after ${at} events`)
    at += found + 1
  }
})

/** Whether a value has everything that another has. */
function includes(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return value === wanted
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(wanted).every(([name, inner]) => includes((value as Json)[name], inner))
}

test('a tool call is sent as its name and the text of its arguments, and completes the response', async () => {
  await using portico = await openPortico()
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: null, description: null }]
  const events = await stream(portico, { model: 'portico/echo', input: '/tool look {"a": 1}', tools }, 'openai')
  const response = events.at(-1)?.response as Json
  const item = response.output[0]
  const call = { type: 'function_call', id: `fc_${response.id.slice(5)}_0`, call_id: item.call_id, name: 'look' }
  const full = { ...call, arguments: '{"a": 1}', status: 'completed' }
  const at = { item_id: call.id, output_index: 0 }
  const of = { response_id: response.id, output_index: 0 }
  assert.deepEqual(
    events,
    numbered([
      { type: 'response.created', response: begun(response, { tools }) },
      { type: 'response.in_progress', response: begun(response, { tools }) },
      { type: 'response.output_item.added', ...of, item: { ...call, arguments: '', status: 'in_progress' } },
      { type: 'response.function_call_arguments.delta', ...at, delta: '{"a": ' },
      { type: 'response.function_call_arguments.delta', ...at, delta: '1}' },
      { type: 'response.function_call_arguments.done', ...at, name: 'look', arguments: '{"a": 1}' },
      { type: 'response.output_item.done', ...of, item: full },
      { type: 'response.completed', response: whole(response, { output: [full], tools, usage: usage(4, 3) }) },
    ]),
  )
})

test('an answer that met its limit ends with response.incomplete, and response.done says so too', async () => {
  await using portico = await openPortico()
  const events = await stream(portico, { model: 'portico/echo', input: '/length 9', max_output_tokens: 1 })
  const tail = events.slice(-3)
  const response = tail[2]?.response as Json
  const id = `msg_${response.id.slice(5)}_0`
  const item = { type: 'message', id, status: 'incomplete', role: 'assistant', content: [textPart('the ')] }
  const ended = whole(response, {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [item],
    output_text: 'the ',
    usage: usage(2, 1),
    max_output_tokens: 1,
  })
  assert.deepEqual(tail, [
    { type: 'response.output_item.done', response_id: response.id, output_index: 0, item, sequence_number: 8 },
    { type: 'response.incomplete', response: ended, sequence_number: 9 },
    { type: 'response.done', response: ended, sequence_number: 10 },
  ])
})

test('a provider that fails in the middle ends the stream with response.failed, and the output so far stays', async () => {
  await using portico = await openPortico()
  const request = { model: 'portico/echo', input: '/fail 429 after 1\n/length 9' }
  const events = await stream(portico, request)
  const response = events.at(-1)?.response as Json
  const id = `msg_${response.id.slice(5)}_0`
  const item = { type: 'message', id, status: 'incomplete', role: 'assistant', content: [textPart('the ')] }
  const ended = whole(response, {
    status: 'failed',
    completed_at: null,
    error: {
      code: 'rate_limit_exceeded',
      message: 'Rate limit exceeded: portico is rate limiting requests: The prompt requested status 429',
    },
    error_type: 'rate_limit_exceeded',
    output: [item],
    output_text: 'the ',
  })
  assert.deepEqual(events.slice(-2), [
    { type: 'response.failed', response: ended, sequence_number: 9 },
    { type: 'response.done', response: ended, sequence_number: 10 },
  ])
  const specified = await stream(portico, request, 'specification')
  const { error, error_type } = ended
  const done = { id: specified[0]?.response.id, object: 'response', status: 'failed', error, error_type }
  assert.deepEqual(specified.at(-1), { type: 'response.done', response: done })
})

test('an error before the first event keeps its status, even if a stream was requested', async () => {
  await using portico = await openPortico()
  for (const streamed of [true, false]) {
    const answer = await post(portico, { model: 'portico/echo', input: '/fail 503', stream: streamed })
    assert.equal(answer.status, 503)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.match(answer.headers.get('x-generation-id') ?? '', /^gen-/)
    assert.deepEqual(await answer.json(), {
      error: {
        code: 503,
        message: 'Provider overloaded: portico is unavailable: The prompt requested status 503',
        metadata: { provider_name: 'portico', error_type: 'provider_overloaded' },
      },
    })
  }
})
