// Any body on any POST route of the whole product. `npm run soak:bodies` tries many more; PORTICO_TEST_RUNS sets their
// number.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { errorSchemas } from '#gateway/errors/schemas.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { type RawAnswer, rawRequest } from '#test/support/raw-http.ts'

const RUNS = Number(process.env.PORTICO_TEST_RUNS ?? 600)

/** Bodies that are nearly right, by the path they are sent to. */
const BODIES: Readonly<Record<string, readonly object[]>> = {
  '/api/session': [
    {
      title: 't',
      agent: 'build',
      model: { id: 'echo', providerID: 'portico', variant: 'v' },
      location: null,
      metadata: { a: { b: [1, 'x', null] } },
      permissions: [{ action: 'read', resource: '*', effect: 'allow' }],
    },
    { id: 'ses_any' },
  ],
  '/api/session/ses_any/prompt': [
    {
      id: 'msg_any',
      text: 't',
      files: [{ uri: 'data:text/plain,x', name: 'n', description: 'd', mention: { start: 0, end: 1, text: 't' } }],
      agents: [{ name: 'build', mention: { start: 0, end: 1, text: 't' } }],
      metadata: { a: 1 },
      delivery: 'queue',
      resume: false,
    },
    { prompt: { text: 't', files: [{ uri: 'file:///x' }] }, resume: false },
    { text: 't', skills: [{ id: 's' }] },
  ],
  '/api/session/ses_any/agent': [{ agent: 'plan' }],
  '/api/session/ses_any/model': [{ model: { id: 'echo', providerID: 'portico', variant: null } }],
  '/api/session/ses_any/permission/per_any/reply': [{ reply: 'once', message: 'm' }],
  '/api/session/ses_any/interrupt': [{}],
  '/api/session/ses_any/wait': [{}],
  '/api/experimental/session/ses_any/wait': [{}],
  '/api/v1/chat/completions': [
    { model: 'portico/echo', messages: [{ role: 'user', content: 'Hello' }], stream: true, stop: 'x', seed: 1, n: 1 },
    {
      model: 'portico/echo',
      messages: [
        { role: 'system', content: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 't', prompt_cache_breakpoint: { mode: 'explicit' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
            { type: 'file', file: { file_data: 'data:,x', filename: 'f' } },
            { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
            { type: 'video_url', video_url: { url: 'https://a/b' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning: 'r',
          reasoning_details: [
            { type: 'reasoning.text', text: 't', signature: 's', index: 0, format: 'f', id: 'i' },
            { type: 'reasoning.summary', summary: 's' },
            { type: 'reasoning.encrypted', data: 'portico:item:e30', index: 1 },
          ],
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } },
            { id: 'd', type: 'custom', custom: { name: 'g', input: 'i' } },
          ],
          annotations: [{ type: 'url_citation', url_citation: { url: 'u', start_index: 0, end_index: 1 } }],
          images: [{ type: 'image_url', image_url: { url: 'https://a/b' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'o' },
        { role: 'tool', tool_call_id: 'd', content: [{ type: 'text', text: 'o' }] },
      ],
      tools: [
        { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { a: {} } } } },
        { type: 'custom', custom: { name: 'g', format: { type: 'text' } } },
        { type: 'web_search', a: { b: 1 } },
      ],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'custom', custom: { name: 'g' } }] },
      },
    },
    {
      model: 'portico/echo',
      prompt: 'x',
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } },
      reasoning: { effort: 'low', exclude: true },
      logprobs: true,
      top_logprobs: 1,
      logit_bias: { '1': 1 },
      prediction: { type: 'content', content: [{ type: 'text', text: 'p' }] },
      modalities: ['text', 'image'],
      image_config: { a: 1 },
      cache_control: { type: 'ephemeral' },
      provider: { order: ['a'], sort: { by: 'price' } },
      trace: { trace_id: 't', more: 1 },
      metadata: { a: 'b' },
      usage: { include: true },
      stream_options: { include_usage: true },
    },
  ],
  '/api/v1/responses': [
    { model: 'portico/echo', input: 'Hello', stream: true, temperature: 1, top_k: 1, metadata: { a: 'b' } },
    {
      model: 'portico/echo',
      instructions: 'i',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 't' }] },
        { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' }] },
        { role: 'user', content: [{ type: 'input_file', file_data: 'data:,x', filename: 'f' }] },
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }] },
        { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'e' },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'o' },
      ],
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: { a: {} } }, strict: true }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
    {
      model: 'portico/echo',
      input: 'x',
      text: { format: { type: 'json_schema', name: 'n', schema: {}, strict: true }, verbosity: 'low' },
      reasoning: { effort: 'low', summary: 'auto', max_tokens: 1 },
      provider: { order: ['a'], sort: { by: 'price' }, max_price: { prompt: null } },
      plugins: [{ id: 'web', enabled: false }],
      stop_server_tools_when: [{ type: 'step_count_is', step_count: 1 }],
      trace: { trace_id: 't', more: 1 },
    },
  ],
  '/api/v1/messages': [
    { model: 'portico/echo', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }], stream: true, top_k: 1 },
    {
      model: 'portico/echo',
      system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 't' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' }, title: 'T' },
            { type: 'container_upload', file_id: 'f' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 't', signature: 'portico:openai-responses-v1:{"id":"r"}' },
            { type: 'redacted_thinking', data: 'd' },
            { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'o' }], is_error: true }],
        },
        { role: 'system', content: 'between' },
      ],
      tools: [
        { name: 'f', input_schema: { type: 'object' } },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
      tool_choice: { type: 'tool', name: 'f', disable_parallel_tool_use: true },
    },
    {
      model: 'portico/echo',
      messages: [{ role: 'user', content: 'x' }],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      output_config: {
        effort: 'low',
        format: { type: 'json_schema', schema: {} },
        task_budget: { type: 'tokens', total: 20_000 },
      },
      fallbacks: [{ model: 'm' }],
      metadata: { user_id: 'u', team: 't' },
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    },
  ],
}

const hostile = fc.constantFrom<unknown>(
  ...[
    null,
    true,
    0,
    -1,
    0.5,
    1e308,
    2 ** 53,
    '',
    '__proto__',
    'constructor',
    '\0',
    '\u2028',
    'portico/echo',
    'ses_any',
  ],
  ...['x'.repeat(5_000), '%00', '../..', 'file:///%ff', 'data:;base64,@', 'http://[', [], {}, [null], [[]], [{}]],
  ...[{ type: 'message' }, { type: 'constructor' }, { a: { b: { c: [{ d: {} }] } } }],
)
const value = fc.oneof({ weight: 3, arbitrary: hostile }, { weight: 1, arbitrary: fc.jsonValue() })

/** Puts something else somewhere in a JSON value: in place of a member, next to it, or nothing at all. */
function mutate(root: unknown, place: number, to: unknown, how: 'replace' | 'remove' | 'add'): unknown {
  const copy = structuredClone(root)
  const places: [Record<string, unknown>, string][] = []
  const walk = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return
    for (const key of Object.keys(at)) {
      places.push([at as Record<string, unknown>, key])
      walk((at as Record<string, unknown>)[key])
    }
  }
  walk(copy)
  const chosen = places[place % Math.max(places.length, 1)]
  if (chosen === undefined) return to
  const [parent, key] = chosen
  if (how === 'remove') delete parent[key]
  else parent[how === 'add' ? `${key}x` : key] = to
  return copy
}

const how = fc.constantFrom('replace' as const, 'replace' as const, 'remove' as const, 'add' as const)
const change = fc.tuple(fc.nat(), value, how)
const request = fc.constantFrom(...Object.keys(BODIES)).chain((path) =>
  fc.record({
    path: fc.constant(path),
    body: fc.oneof(
      {
        weight: 6,
        arbitrary: fc
          .tuple(fc.constantFrom(...(BODIES[path] ?? [])), fc.array(change, { maxLength: 3 }))
          .map(([body, changes]) =>
            JSON.stringify(changes.reduce<unknown>((at, [place, to, way]) => mutate(at, place, to, way), body)),
          ),
      },
      { weight: 1, arbitrary: fc.json() },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)) },
    ),
    type: fc.constantFrom('application/json', 'application/json', 'application/json; charset=utf-8', 'text/plain'),
  }),
)

function check({ status, headers, text }: RawAnswer, path: string, body: string | Buffer): void {
  const what = `${status} ${text} for ${body} on ${path}`
  assert.ok(status < 500, what)
  if (status < 400) return
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', what)
  const error = JSON.parse(text)
  if (path === '/api/v1/messages') {
    assert.equal(errorSchemas.messages.safeParse(error).success, true, what)
  } else if (path.startsWith('/api/v1')) {
    assert.equal(error.error.code, status, what)
    assert.equal(typeof error.error.message, 'string', what)
  } else {
    assert.equal(typeof error._tag, 'string', what)
    assert.equal(typeof error.message, 'string', what)
  }
  assert.doesNotMatch(text, /\.ts\b|node_modules|\bat .*:\d+:\d+|sk-portico/, what)
}

test('any body on any POST route is taken, or refused in the form of its API family', async () => {
  await using portico: Portico = await openPortico()
  assert.equal((await portico.post('/api/session', { id: 'ses_any' })).status, 200)
  await fc.assert(
    fc.asyncProperty(request, async ({ path, body, type }) => {
      const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': type }
      check(await rawRequest(portico.url + path, { method: 'POST', headers, body: body ?? '' }), path, body ?? '')
    }),
    { numRuns: RUNS },
  )
  const errors = portico.log.filter(({ level }) => level === 'error' || Number(level) >= 50)
  assert.deepEqual(errors, [])
})
