import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { openPortico } from '#test/support/portico.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { ask, chatEnd, chunk, type Json, openWith, post } from '#test/support/responses.ts'

const hello = { model: 'openai/gpt-x', input: 'Hello' }

test('a history with tools and pictures reaches the provider, and its answer the client', async () => {
  const call = { index: 0, id: 'call_2', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }
  const text = chunk({ content: 'See: ' }) + chunk({ tool_calls: [call] }) + chatEnd('tool_calls')
  await using stub = await startStub(streams(text))
  await using portico = await openWith(stub)
  const response = await ask(portico, {
    model: 'openai/gpt-x',
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAEC' },
        ],
      },
      {
        type: 'message',
        id: 'm',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hm.' }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'a cat' },
    ],
    tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: true }],
    tool_choice: 'required',
    temperature: 0.5,
    max_output_tokens: 9,
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'low' },
  })
  assert.deepEqual(stub.seen[0]?.body, {
    model: 'gpt-x',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAEC' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Hm.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a cat' },
    ],
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' }, strict: true } }],
    tool_choice: 'required',
    temperature: 0.5,
    max_completion_tokens: 9,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
    reasoning_effort: 'low',
    verbosity: 'low',
    stream: false,
  })
  const tail = response.id.slice(5)
  assert.deepEqual(response.output, [
    {
      type: 'message',
      id: `msg_${tail}_0`,
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'See: ', annotations: [], logprobs: [] }],
    },
    {
      type: 'function_call',
      id: `fc_${tail}_1`,
      call_id: 'call_2',
      name: 'look',
      arguments: '{"a":1}',
      status: 'completed',
    },
  ])
  assert.equal(response.model, 'openai/gpt-x')
})

test('a refusal of another Portico that serves as provider is reported once', async () => {
  const message = 'Invalid request parameters: model: There is no model "a"'
  await using stub = await startStub(answers(400, { error: { code: 400, message, param: 'model' } }))
  await using portico = await openWith(stub)
  const { error } = (await (await post(portico, hello)).json()) as Json
  assert.equal(error.message, 'Invalid request parameters: openai refused the request: model: There is no model "a"')
})

test("a provider's refusal becomes the client's status, with its message and when to come back", async () => {
  const [refused, unavailable] = ['openai refused the request: Because', 'openai is unavailable: Because']
  const cases: [number, number, string, string, string?][] = [
    [400, 400, `Invalid request parameters: ${refused}`, 'invalid_request'],
    [401, 502, `Provider error: ${refused}`, 'provider_unavailable'],
    [402, 502, `Provider error: ${refused}`, 'provider_unavailable'],
    [403, 403, refused, 'permission_denied'],
    [404, 404, `Resource not found: ${refused}`, 'not_found'],
    [412, 412, `Precondition failed: ${refused}`, 'precondition_failed'],
    [413, 413, `Payload too large: ${refused}`, 'payload_too_large'],
    [422, 422, `Invalid argument: ${refused}`, 'unprocessable'],
    [429, 429, 'Rate limit exceeded: openai is rate limiting requests: Because', 'rate_limit_exceeded'],
    [500, 502, `Provider error: ${unavailable}`, 'provider_unavailable'],
    [503, 503, `Provider overloaded: ${unavailable}`, 'provider_overloaded'],
    [504, 408, 'Operation timed out: openai did not answer in time', 'timeout'],
    [529, 503, `Provider overloaded: ${unavailable}`, 'provider_overloaded'],
    // If the provider has a word for it, that says more than the status.
    [400, 400, `Invalid request parameters: ${refused}`, 'invalid_prompt', 'invalid_prompt'],
    [400, 400, `Invalid request parameters: ${refused}`, 'string_too_long', 'string_above_max_length'],
    [400, 400, `Invalid request parameters: ${refused}`, 'content_policy_violation', 'content_filter'],
    [400, 400, `Invalid request parameters: ${refused}`, 'image_download_failed', 'failed_to_download_image'],
    [400, 404, `Resource not found: ${refused}`, 'image_not_found', 'image_file_not_found'],
    [400, 400, `Invalid request parameters: ${refused}`, 'invalid_request', 'a_word_of_its_own'],
    [429, 429, 'Rate limit exceeded: openai is rate limiting requests: Because', 'rate_limit_exceeded', 'slow_down'],
  ]
  let status = 0
  let code: string | undefined
  await using stub = await startStub((response) =>
    answers(status, { error: { message: 'Because', code } }, { 'retry-after': '7' })(response),
  )
  await using portico = await openWith(stub)
  for (const [theirs, ours, message, error_type, word] of cases) {
    status = theirs
    code = word
    // In a stream, a conversation that is too long is an answer that ends because of its length.
    for (const streamed of error_type === 'string_too_long' ? [false] : [true, false]) {
      const answer = await post(portico, { ...hello, stream: streamed })
      const metadata = { provider_name: 'openai', error_type, ...(word && { provider_code: word }) }
      assert.deepEqual(await answer.json(), { error: { code: ours, message, metadata } })
      assert.equal(answer.status, ours)
      assert.equal(answer.headers.get('retry-after'), '7', String(theirs))
    }
  }
})

test('usage contains the cost in dollars, and the ledger has it under the id of the generation', async () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 400 } }
  const details = { completion_tokens_details: { reasoning_tokens: 4 } }
  await using stub = await startStub(streams(chunk({ content: 'x' }) + chatEnd('stop', { ...usage, ...details })))
  const folder = await mkdtemp(join(tmpdir(), 'portico-priced-'))
  const pricing = { input: 2, output: 10, cacheRead: 0.5 }
  const priced = { id: 'p', protocol: 'openai', baseURL: `${stub.url}/v1`, models: [{ id: 'm', pricing }] }
  await writeFile(join(folder, 'portico.json'), JSON.stringify({ providers: [priced] }))
  const env = { PORTICO_CONFIG: join(folder, 'portico.json'), PORTICO_DATA_DIR: folder }
  let response: Json
  {
    await using portico = await openPortico(env)
    response = await ask(portico, { model: 'p/m', input: 'x' })
  }
  assert.deepEqual(response.usage, {
    input_tokens: 1_000,
    input_tokens_details: { cached_tokens: 400, cache_write_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 1_010,
    cost: 0.0015,
    is_byok: false,
    cost_details: {
      upstream_inference_cost: null,
      upstream_inference_input_cost: 0.0014,
      upstream_inference_output_cost: 0.0001,
    },
  })
  using ledger = new DatabaseSync(join(folder, 'inference.sqlite'))
  const row = ledger.prepare('SELECT requestId, origin, status, costNanos FROM ledger').get()
  const requestId = response.id.replace('resp_', 'gen-')
  assert.deepEqual({ ...row }, { requestId, origin: 'responses', status: Status.COMPLETED, costNanos: 1_500_000 })
  await rm(folder, { recursive: true })
})
