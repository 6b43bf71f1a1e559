import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'
import { ask, type Json, post, textPart, usage, whole } from '#test/support/responses.ts'

test('200: a text is answered with the whole response object, and its ids go together', async () => {
  await using portico = await openPortico()
  const answer = await post(portico, { model: 'portico/echo', input: 'Hello' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  const response = (await answer.json()) as Json
  assert.match(response.id, /^resp_[0-9A-Za-z]{24}$/)
  const tail = response.id.slice(5)
  assert.equal(answer.headers.get('x-generation-id'), `gen-${tail}`)
  assert.ok(Number.isInteger(response.created_at) && Number.isInteger(response.completed_at))
  const text = 'This is portico/echo, the built-in model that needs no network. You said: Hello'
  const content = [textPart(text)]
  const output = [{ type: 'message', id: `msg_${tail}_0`, status: 'completed', role: 'assistant', content }]
  assert.deepEqual(response, whole(response, { output, output_text: text, usage: usage(1, 13) }))
})

test('200: settings of the request are echoed, and thoughts, calls and text are separate items', async () => {
  await using portico = await openPortico()
  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const request = {
    model: 'portico/echo',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: '/reasoning let me see\n/tool look {"city":"Rome"}' }] },
    ],
    tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters, strict: false }],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    temperature: 0.5,
    top_p: 0.9,
    presence_penalty: 1,
    frequency_penalty: -1,
    max_output_tokens: 100,
    max_tool_calls: 3,
    metadata: { a: 'b' },
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    user: 'someone',
    safety_identifier: 'safe',
    prompt_cache_key: 'key',
    store: false,
    service_tier: 'auto',
    unknown_member: { is: 'ignored' },
  }
  const response = await ask(portico, request)
  const tail = response.id.slice(5)
  const callId = response.output[1].call_id
  assert.match(callId, /^call_/)
  const call = { call_id: callId, name: 'look', arguments: '{"city":"Rome"}', status: 'completed' }
  const thought = { summary: [], content: [{ type: 'reasoning_text', text: 'let me see' }], status: 'completed' }
  assert.deepEqual(
    response,
    whole(response, {
      output: [
        { type: 'reasoning', id: `rs_${tail}_0`, ...thought },
        { type: 'function_call', id: `fc_${tail}_1`, ...call },
      ],
      usage: usage(9, 5, 3),
      instructions: 'Be brief.',
      tools: request.tools,
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.9,
      presence_penalty: 1,
      frequency_penalty: -1,
      max_output_tokens: 100,
      max_tool_calls: 3,
      metadata: { a: 'b' },
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      user: 'someone',
      safety_identifier: 'safe',
      prompt_cache_key: 'key',
    }),
  )
})

test('200: an answer that met its limit is incomplete, and so is its last item', async () => {
  await using portico = await openPortico()
  const request = { model: 'portico/echo', input: '/length 10', max_output_tokens: 3 }
  const response = await ask(portico, request)
  const content = [textPart('the quick brown ')]
  const id = `msg_${response.id.slice(5)}_0`
  assert.deepEqual(
    response,
    whole(response, {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', id, status: 'incomplete', role: 'assistant', content }],
      output_text: 'the quick brown ',
      usage: usage(2, 3),
      max_output_tokens: 3,
    }),
  )
})
