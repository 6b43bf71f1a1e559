import assert from 'node:assert/strict'
import test from 'node:test'
import { askChat, chatUsage, chunksOf, completion, FREE, foldChunks, postChat, streamChat } from '#test/support/chat.ts'
import { openPortico } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

const model = 'portico/echo'
const say = (content: string): Json => ({ model, messages: [{ role: 'user', content }] })
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

test('a question is answered with a whole completion', async () => {
  await using portico = await openPortico()
  const answer = await askChat(portico, say('/reasoning so be it\n/length 3'))
  assert.match(answer.id, /^gen-[0-9A-Za-z]{24}$/)
  assert.ok(Math.abs(answer.created - Date.now() / 1_000) < 60)
  const thought = [{ type: 'reasoning.text', text: 'so be it', index: 0 }]
  assert.deepEqual(
    answer,
    completion(
      answer,
      { content: 'the quick brown', reasoning: 'so be it', reasoning_details: thought },
      { usage: chatUsage(6, 6, { reasoning: 3, ...FREE }) },
    ),
  )
})

test('a word of several megabytes counts as many tokens, in a prompt and in an answer', async () => {
  await using portico = await openPortico()
  // The answer repeats a million characters.
  const { usage } = await askChat(portico, say('x'.repeat(3e6)))
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens], [10_000, 3_346])
  assert.deepEqual(
    portico.log.filter(({ msg }) => /implausible/.test(String(msg))),
    [],
  )
})

test('a stream begins with the role, has a chunk for each word, ends with the reason, and has usage without a choice', async () => {
  await using portico = await openPortico()
  const chunks = await streamChat(portico, say('/length 2'))
  const [first] = chunks
  const head = {
    id: first?.id,
    object: 'chat.completion.chunk',
    created: first?.created,
    model,
    provider: 'portico',
  }
  const choice = (delta: Json, finish: string | null = null): Json => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finish, native_finish_reason: finish, logprobs: null }],
  })
  assert.deepEqual(chunks, [
    choice({ role: 'assistant', content: '' }),
    choice({ content: 'the ' }),
    choice({ content: 'quick' }),
    choice({}, 'stop'),
    { ...head, choices: [], usage: chatUsage(2, 2, FREE) },
  ])
})

test('a tool is called and its result sent back, whole and streamed', async () => {
  await using portico = await openPortico()
  const asked: Json = { ...say('/reasoning hm\n/tool look {"a": 1}\n/tool look {"b": 2}'), tools: [look] }
  const whole = (await askChat(portico, asked)).choices[0]
  assert.equal(whole.finish_reason, 'tool_calls')
  assert.equal(whole.message.content, null)
  const chunks = await streamChat(portico, asked)
  const streamed = foldChunks(chunks)
  const called = [whole.message, streamed].map((message) => message.tool_calls.map((call: Json) => call.function))
  const expected = [
    { name: 'look', arguments: '{"a": 1}' },
    { name: 'look', arguments: '{"b": 2}' },
  ]
  assert.deepEqual(called, [expected, expected])
  assert.equal(chunks.at(-2)?.choices[0].finish_reason, 'tool_calls')
  for (const message of [whole.message, streamed]) {
    const results = message.tool_calls.map(({ id }: Json, i: number) => ({
      role: 'tool',
      tool_call_id: id,
      content: `result ${i}`,
    }))
    const answer = await askChat(portico, { ...asked, messages: [...asked.messages, message, ...results] })
    assert.equal(answer.choices[0].message.content, 'look returned:\nresult 0\n\nlook returned:\nresult 1')
  }
})

test('thoughts that are not wanted are left out', async () => {
  await using portico = await openPortico()
  for (const more of [{ reasoning: { exclude: true } }, { include_reasoning: false }]) {
    const request = { ...say('/reasoning so be it\n/length 1'), ...more }
    const { message } = (await askChat(portico, request)).choices[0]
    assert.deepEqual(message, { role: 'assistant', content: 'the', refusal: null, reasoning: null })
    assert.deepEqual(foldChunks(await streamChat(portico, request)), message)
  }
})

test('a limit of tokens ends the answer by length', async () => {
  await using portico = await openPortico()
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    const request = { ...say('/length 5'), [name]: 2 }
    const [choice] = (await askChat(portico, request)).choices
    assert.deepEqual([choice.message.content, choice.finish_reason], ['the quick ', 'length'])
    const chunks = await streamChat(portico, request)
    assert.equal(chunks.at(-2)?.choices[0].finish_reason, 'length')
  }
})

test('the older member prompt is accepted as a message of the user', async () => {
  await using portico = await openPortico()
  assert.equal((await askChat(portico, { model, prompt: '/length 1' })).choices[0].message.content, 'the')
})

test('an answer follows a schema', async () => {
  await using portico = await openPortico()
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const response_format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } }
  const answer = await askChat(portico, { ...say('{"city":"Rome"}'), response_format })
  assert.deepEqual(JSON.parse(answer.choices[0].message.content), { city: 'Rome' })
})

test('a request without a model is answered by the default one', async () => {
  await using portico = await openPortico()
  const { model: _, ...request } = say('/length 1')
  assert.equal((await askChat(portico, request)).model, model)
  assert.equal((await askChat(portico, { ...request, models: [model] })).model, model)
})

test('names what was not applied if the request asks for metadata', async () => {
  await using portico = await openPortico()
  const headers = { 'x-openrouter-metadata': 'enabled' }
  const request = {
    ...say('/length 1'),
    models: [model, 'a/b'],
    plugins: [{ id: 'web' }],
    transforms: ['middle-out'],
    provider: { sort: 'price' },
  }
  const metadata = (await askChat(portico, request, headers)).openrouter_metadata
  assert.equal(metadata.requested, model)
  assert.deepEqual(metadata.pipeline.map(({ name }: Json) => name).toSorted(), [
    'models',
    'plugins',
    'provider.sort',
    'transforms',
  ])
  const chunks = await streamChat(portico, request, headers)
  assert.deepEqual(chunks.at(-1)?.openrouter_metadata, metadata)
  const cached = { ...headers, 'x-openrouter-cache': 'true', 'x-openrouter-cache-ttl': '999999' }
  const { pipeline } = (await askChat(portico, say('/length 1'), cached)).openrouter_metadata
  assert.deepEqual(
    pipeline.map(({ name }: Json) => name),
    ['x-openrouter-cache'],
  )
  const refused: Record<string, string>[] = [{ 'x-openrouter-cache': 'yes' }, { 'x-openrouter-cache-ttl': '5m' }]
  for (const wrong of refused) {
    assert.equal((await postChat(portico, say('Hi'), { ...headers, ...wrong })).status, 400)
  }
  assert.equal(chunks.filter((chunk) => 'openrouter_metadata' in chunk).length, 1)
})

test('a failure before the first byte has a status of its own, in a stream as well', async () => {
  await using portico = await openPortico()
  for (const stream of [false, true]) {
    const answer = await postChat(portico, { ...say('/fail 500'), stream })
    assert.equal(answer.status, 502)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.deepEqual(await answer.json(), {
      error: {
        code: 502,
        message: 'Provider error: portico is unavailable: The prompt requested status 500',
        metadata: { provider_name: 'portico', error_type: 'provider_unavailable' },
      },
    })
  }
})

test('a failure in the middle ends the stream with an error beside a choice that ended with one', async () => {
  await using portico = await openPortico()
  const answer = await postChat(portico, { ...say('/fail 429 after 1\n/length 3'), stream: true })
  assert.equal(answer.status, 200)
  const chunks = chunksOf(await answer.text())
  const { choices, error } = chunks.at(-1) ?? assert.fail()
  assert.deepEqual(choices, [
    { index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: null, logprobs: null },
  ])
  assert.deepEqual(error, {
    code: 429,
    message: 'Rate limit exceeded: portico is rate limiting requests: The prompt requested status 429',
    metadata: { provider_name: 'portico', error_type: 'rate_limit_exceeded' },
  })
  assert.equal(foldChunks(chunks).content, 'the ')
})
