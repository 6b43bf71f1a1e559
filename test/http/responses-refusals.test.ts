import assert from 'node:assert/strict'
import test from 'node:test'
import { gatewayError, generationError } from '#test/support/gateway-error.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { ask, type Json, post } from '#test/support/responses.ts'

const base = { model: 'portico/echo', input: 'Hello' }

/** Asserts status and whole body of an answer; before the operation is known an error has no type. */
async function refused(answer: Response, code: number, message: string): Promise<void> {
  const body = await answer.json()
  assert.deepEqual(body, (code === 405 ? gatewayError : generationError)(code, message))
  assert.equal(answer.status, code)
}

async function refuses(portico: Portico, more: Json, problem: string): Promise<void> {
  await refused(await post(portico, { ...base, ...more }), 400, `Invalid request parameters: ${problem}`)
}

test('400: model and input are required', async () => {
  await using portico = await openPortico()
  const invalid = 'Invalid request parameters'
  await refused(await post(portico, { input: 'x' }), 400, `${invalid}: model: is required`)
  await refused(await post(portico, { model: 'm' }), 400, `${invalid}: input: is required`)
  await refused(await post(portico, []), 400, `${invalid}: the body must be an object`)
  await refused(await post(portico, '{"model'), 400, `${invalid}: the body is not valid JSON`)
  await refused(await post(portico, ''), 400, `${invalid}: a request body is required`)
})

test('400: store and previous_response_id, since nothing is stored', async () => {
  await using portico = await openPortico()
  await refuses(portico, { store: true }, 'store: nothing is stored: only false is allowed')
  await refuses(
    portico,
    { previous_response_id: 'resp_1' },
    'previous_response_id: nothing is stored: send the whole history as input',
  )
  await refuses(portico, { conversation: 'conv_1' }, 'conversation: nothing is stored: send the whole history as input')
  await ask(portico, { ...base, store: false, previous_response_id: null, conversation: null })
})

test('400: values beyond their bounds are reported by their path', async () => {
  await using portico = await openPortico()
  const cases: [Json, string][] = [
    [{ temperature: 2.1 }, 'temperature: must be at most 2'],
    [{ temperature: -1 }, 'temperature: must be at least 0'],
    [{ top_p: 1.5 }, 'top_p: must be at most 1'],
    [{ top_k: 0.5 }, 'top_k: must be an integer'],
    [{ max_output_tokens: 0 }, 'max_output_tokens: must be at least 1'],
    [{ presence_penalty: 3 }, 'presence_penalty: must be at most 2'],
    [{ stream: 'yes' }, 'stream: must be a boolean'],
    [{ user: 'x'.repeat(257) }, 'user: must have at most 256 characters'],
    [{ session_id: 'x'.repeat(257) }, 'session_id: must have at most 256 characters'],
    [{ metadata: { 'a[0]': 'b' } }, 'metadata: keys must have at most 64 characters and no brackets'],
    [{ metadata: { ['x'.repeat(65)]: '' } }, 'metadata: keys must have at most 64 characters and no brackets'],
    [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a: must have at most 512 characters'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) },
      'metadata: must have at most 16 pairs',
    ],
    [
      { reasoning: { effort: 'huge' } },
      'reasoning.effort: must be "max", "xhigh", "high", "medium", "low", "minimal" or "none"',
    ],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type: must be "text", "json_object" or "json_schema"'],
    [
      { text: { format: { type: 'json_schema', name: 'a b', schema: {} } } },
      'text.format.name: must have 1 to 64 letters, digits, _ or -',
    ],
    [{ plugins: [{ id: 'web-fetch', max_uses: 0 }] }, 'plugins.0.max_uses: must be at least 1'],
    [
      { plugins: [{ id: { toString: null } }] },
      'plugins.0.id: must be "auto-router", "auto-beta-router", "moderation", "web", "web-fetch", "file-parser", "response-healing", "context-compression", "pareto-router", "fusion" or "switchyard-router"',
    ],
    [{ plugins: [{ id: 'web', max_results: 26 }] }, 'plugins.0.max_results: must be at most 25'],
    [
      { provider: { max_price: { prompt: '1e3' } } },
      'provider.max_price.prompt: must be an amount of US dollars, with at most nine digits after the point',
    ],
    [{ top_logprobs: 21 }, 'top_logprobs: must be at most 20'],
    [{ stop_server_tools_when: [] }, 'stop_server_tools_when: must not be empty'],
    [{ provider: { region: 'eu' } }, 'provider: has the unknown member "region"'],
    [{ input: [] }, 'input: must not be empty'],
    [{ input: [{ role: 'robot', content: '' }] }, 'input.0.role: must be "user", "assistant", "system" or "developer"'],
    [{ input: [{ role: 'user' }] }, 'input.0.content: is required'],
    [{ input: [{ role: 'user', content: 7 }] }, 'input.0.content: must be a string or an array of parts'],
    [{ input: 7 }, 'input: must be a string or an array of items'],
    [{ tools: [{ name: 'f' }] }, 'tools.0.type: is required'],
    [{ provider: { sort: 7 } }, 'provider.sort: must be "price", "throughput", "latency", "exacto" or an object'],
    [{ input: [{ role: 'user', content: [] }] }, 'input: must have content'],
    [{ input: [7] }, 'input.0: must be an object'],
  ]
  for (const [more, problem] of cases) await refuses(portico, more, problem)
})

test('400: refuses settings that would change the answer and cannot be applied', async () => {
  await using portico = await openPortico()
  const cases: [Json, string][] = [
    [{ background: true }, 'background: background responses are not supported'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt: a stored prompt is not supported'],
    [{ tools: [{ type: 'nobody' }] }, 'tools.0.type: tools of the type "nobody" are not supported'],
    [
      { tools: [{ type: 'openrouter:datetime' }] },
      'tools.0.type: the server tool "openrouter:datetime" is not available here',
    ],
    [{ tool_choice: 'required' }, 'tool_choice: requires a call, but there are no tools'],
    [{ tool_choice: { type: 'function', name: 'f' } }, 'tool_choice: there is no tool "f"'],
    [{ tool_choice: { type: 'shell' } }, 'tool_choice: there is no tool "shell"'],
    [
      {
        tool_choice: { type: 'mcp', server_label: 'a' },
        tools: [{ type: 'mcp', server_label: 'b', server_url: 'https://example.com' }],
      },
      'tool_choice: there is no tool "a"',
    ],
    [
      {
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
        tools: [{ type: 'function', name: 'f' }],
      },
      'tool_choice: there is no tool "g"',
    ],
    [
      {
        tool_choice: {
          ...{ type: 'allowed_tools', mode: 'auto' },
          tools: ['a', 'b'].map((label) => ({ type: 'mcp', server_label: label })),
        },
        tools: [{ type: 'mcp', server_label: 'b', server_url: 'https://example.com' }],
      },
      'tool_choice: there is no tool "a"',
    ],
    [{ debug: { echo_upstream_body: 1 } }, 'debug.echo_upstream_body: must be a boolean'],
    [
      { input: [{ type: 'item_reference', id: 'msg_1' }] },
      'input.0.type: nothing is stored: send the item itself, as the AI SDK does with providerOptions.openai.store set to false',
    ],
    [
      { input: [{ type: 'nobody_knows', id: 'x' }] },
      'input.0.type: items of the type "nobody_knows" are not supported',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_smell', smell: 'x' }] }] },
      'input.0.content.0.type: content of the type "input_smell" is not supported here',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] },
      'input.0.content.0.file_id: files are not stored: send the content or its URL',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'file:///etc/passwd' }] }] },
      'input.0.content.0.image_url: must be an http(s) URL or a data: URL',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,%%' }] }] },
      'input.0.content.0.image_url: is not valid base64',
    ],
  ]
  for (const [more, problem] of cases) await refuses(portico, more, problem)
})

test('settings that demand nothing, or that one endpoint can pass over, are accepted', async () => {
  await using portico = await openPortico()
  await ask(portico, {
    ...base,
    models: ['portico/echo', 'other/model'],
    plugins: [{ id: 'web' }, { id: 'auto-router', enabled: false, allowed_models: ['a/*'] }],
    reasoning: { mode: 'pro', context: 'current_turn' },
    provider: { order: ['a'], sort: 'price', allow_fallbacks: true, only: [], zdr: false, max_price: null },
    route: 'fallback',
    trace: { trace_id: 't', other: 1 },
    service_tier: 'flex',
    truncation: 'auto',
    include: ['reasoning.encrypted_content'],
    stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: 0.5 }],
    background: false,
    top_logprobs: 0,
    prompt: null,
    debug: { echo_upstream_body: false },
  })
})

test('400: structured assistant history needs id and status, except in OpenAI’s dialect', async () => {
  await using portico = await openPortico()
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
  const input = (item: Json): Json => ({ input: [item, { role: 'user', content: 'go on' }] })
  const required = 'is required in assistant messages, except below /v1 or with PORTICO_HISTORY_IDS=false'
  await refuses(portico, input(said), `input.0.id: ${required}`)
  await refuses(portico, input({ ...said, id: 'msg_1' }), `input.0.status: ${required}`)
  await ask(portico, { ...base, ...input({ ...said, id: 'msg_1', status: 'completed' }) })
  await ask(portico, { ...base, ...input({ role: 'assistant', content: 'Hi' }) })
  const loose = [
    ['x-stream-dialect', 'openai'],
    ['x-stainless-lang', 'python'],
  ]
  for (const header of loose) {
    assert.equal((await post(portico, { ...base, ...input(said) }, Object.fromEntries([header]))).status, 200)
  }
})

test('400: an unknown model, an unknown dialect, a session header that is too long', async () => {
  await using portico = await openPortico()
  await refuses(
    portico,
    { model: 'nobody/nothing' },
    'model: The model "nobody/nothing" does not exist; GET /api/v1/models lists all models',
  )
  const invalid = 'Invalid request parameters'
  await refused(
    await post(portico, base, { 'x-stream-dialect': 'latin' }),
    400,
    `${invalid}: x-stream-dialect: must be "both", "openai" or "specification"`,
  )
  await refused(
    await post(portico, base, { 'x-session-id': 'x'.repeat(257) }),
    400,
    `${invalid}: x-session-id: must have at most 256 characters`,
  )
})

test('400: JSON of a tool that is nested too deep', async () => {
  await using portico = await openPortico()
  const text = `${'{"a":'.repeat(31)}1${'}'.repeat(31)}`
  const body = `{"model":"portico/echo","input":"x","tools":[{"type":"function","name":"f","parameters":${text}}]}`
  const problem = 'tools.0.parameters: must be nested at most 30 levels deep'
  await refused(await post(portico, body), 400, `Invalid request parameters: ${problem}`)
})

test('401 without a key or with a wrong one; 403 with a management key', async () => {
  await using portico = await openPortico()
  const send = (headers: Record<string, string>): Promise<Response> =>
    portico.fetch('/api/v1/responses', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(base),
    })
  await refused(await send({}), 401, 'Missing Authentication header')
  await refused(await send({ authorization: 'Bearer sk-portico-wrong' }), 401, 'Invalid API key or access token')
  const management = { authorization: `Bearer ${PORTICO_KEYS.management}` }
  await refused(await send(management), 403, 'Management keys cannot perform this operation: use a workspace key')
})

test('404: a preset that is not there; 405: another method', async () => {
  await using portico = await openPortico()
  for (const more of [{ model: '@preset/a' }, { model: 'portico/echo@preset/a' }, { preset: 'a' }]) {
    await refused(await post(portico, { ...base, ...more }), 404, 'Resource not found: The preset "a" does not exist')
  }
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  const answer = await portico.fetch('/api/v1/responses', { headers })
  assert.equal(answer.headers.get('allow'), 'POST')
  await refused(answer, 405, 'Method not allowed. Allowed here: POST')
})

test('413: a body beyond the limit; 415: a body that is not JSON', async () => {
  await using portico = await openPortico({ PORTICO_PROMPT_LIMIT_BYTES: '2000' })
  const long = await post(portico, { ...base, input: 'x'.repeat(2_000) })
  await refused(long, 413, 'Payload too large: the body has more than 2000 bytes')
  await refused(
    await post(portico, base, { 'content-type': 'text/plain' }),
    415,
    'The content type must be application/json',
  )
})
