import assert from 'node:assert/strict'
import test from 'node:test'
import { createChatBody } from '#gateway/chat/body.ts'
import { firstProblem, STOP_AT_FIRST } from '#gateway/http/check.ts'
import { askChat, postChat } from '#test/support/chat.ts'
import { generationError } from '#test/support/gateway-error.ts'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

const model = 'portico/echo'
const messages = [{ role: 'user', content: 'Hello' }]
const base = { model, messages }
const tool = { type: 'function', function: { name: 'f' } }

/** Bodies that are refused, and why. */
const REFUSED: readonly (readonly [Json, string])[] = [
  [{ messages: undefined }, 'messages: is required'],
  [{ messages: [] }, 'messages: must not be empty'],
  [{ messages: 'x' }, 'messages: must be an array'],
  [
    { messages: [{ role: 'function', content: 'x' }] },
    'messages.0.role: must be "user", "assistant", "tool", "system" or "developer"',
  ],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.tool_call_id: is required'],
  [{ messages: [{ role: 'user' }] }, 'messages.0.content: is required'],
  [{ messages: [{ role: 'assistant', content: null }] }, 'messages: must have content'],
  [{ n: 2 }, 'n: only one choice is generated, so only 1 is allowed'],
  [{ temperature: 2.1 }, 'temperature: must be at most 2'],
  [{ top_p: 1.5 }, 'top_p: must be at most 1'],
  [{ top_k: 0.5 }, 'top_k: must be an integer'],
  [{ min_p: 2 }, 'min_p: must be at most 1'],
  [{ top_a: -1 }, 'top_a: must be at least 0'],
  [{ repetition_penalty: 3 }, 'repetition_penalty: must be at most 2'],
  [{ frequency_penalty: -3 }, 'frequency_penalty: must be at least -2'],
  [{ max_tokens: 0 }, 'max_tokens: must be at least 1'],
  [{ max_completion_tokens: 0 }, 'max_completion_tokens: must be at least 1'],
  [{ seed: 0.5 }, 'seed: must be an integer'],
  [{ stop: 5 }, 'stop: must be a string or an array of strings'],
  [{ stop: Array(65).fill('x') }, 'stop: must have at most 64 items'],
  [{ top_logprobs: 1 }, 'top_logprobs: requires "logprobs": true'],
  [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs: must be at most 20'],
  [{ stream: 'yes' }, 'stream: must be a boolean'],
  [{ user: 'x'.repeat(257) }, 'user: must have at most 256 characters'],
  [{ session_id: 'x'.repeat(257) }, 'session_id: must have at most 256 characters'],
  [{ metadata: { a: 1 } }, 'metadata.a: must be a string'],
  [{ reasoning_effort: 'low', reasoning: { effort: 'high' } }, 'reasoning_effort: contradicts reasoning.effort'],
  [
    { reasoning: { effort: 'huge' } },
    'reasoning.effort: must be "max", "xhigh", "high", "medium", "low", "minimal" or "none"',
  ],
  [{ response_format: { type: 'xml' } }, 'response_format.type: the form "xml" is not supported'],
  [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema: is required'],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'a b' } } },
    'response_format.json_schema.name: must have 1 to 64 letters, digits, _ or -',
  ],
  [{ modalities: ['audio'] }, 'modalities.0: only "text" and "image" are supported'],
  [
    { tools: [{ type: 'openrouter:datetime' }] },
    'tools.0.type: the server tool "openrouter:datetime" is not available here',
  ],
  [{ tools: [{ type: 'function', function: {} }] }, 'tools.0.function.name: is required'],
  [{ tool_choice: 'required' }, 'tool_choice: requires a call, but there are no tools'],
  [{ tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice: there is no tool "f"'],
  [{ tool_choice: { type: 'web_search' }, tools: [tool] }, 'tool_choice: there is no tool "web_search"'],
  [
    {
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'none' } }] },
      },
      tools: [tool],
    },
    'tool_choice: there is no tool "none"',
  ],
  [
    { tool_choice: { type: 'openrouter:datetime' }, tools: [tool] },
    'tool_choice.type: the server tool "openrouter:datetime" is not available here',
  ],
  [{ debug: { echo_upstream_body: 1 } }, 'debug.echo_upstream_body: must be a boolean'],
]

const part = (content: object): Json => ({ messages: [{ role: 'user', content: [content] }] })
const url = 'must be an http(s) URL or a data: URL'
const REFUSED_PARTS: readonly (readonly [Json, string])[] = [
  [part({ type: 'image_url', image_url: { url: 'ftp://x' } }), `messages.0.content.0.image_url.url: ${url}`],
  [
    part({ type: 'image_url', image_url: { url: 'data:image/png;base64,@' } }),
    'messages.0.content.0.image_url.url: is not valid base64',
  ],
  [
    part({ type: 'input_audio', input_audio: { data: '@', format: 'wav' } }),
    'messages.0.content.0.input_audio.data: is not valid base64',
  ],
  [
    part({ type: 'file', file: { file_data: 'data:,x', file_id: 'f' } }),
    'messages.0.content.0.file.file_id: files are not stored: send the content or its URL as file_data',
  ],
  [
    part({ type: 'refusal', refusal: 'x' }),
    'messages.0.content.0.type: content of the type "refusal" is not supported here',
  ],
]

test('400 names a member that cannot be honoured by its path, whole and streamed', async () => {
  await using portico = await openPortico()
  for (const [more, problem] of [...REFUSED, ...REFUSED_PARTS]) {
    for (const stream of [false, true]) {
      const answer = await postChat(portico, { ...base, stream, ...more })
      const body = await answer.json()
      assert.deepEqual(body, generationError(400, `Invalid request parameters: ${problem}`))
      assert.equal(answer.status, 400)
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    }
  }
})

test('a setting without an effect is accepted, and so is an unknown one', async () => {
  await using portico = await openPortico()
  const nothing = {
    ...{ n: 1, stop: null, temperature: null, tools: [], tool_choice: 'none', logprobs: false, top_logprobs: 0 },
    ...{ response_format: { type: 'text' }, reasoning: {}, plugins: [], stream: false, usage: { include: true } },
    ...{ stream_options: null, modalities: ['text'], transforms: [], store: false, whatever: { a: 1 } },
  }
  const answer = await askChat(portico, { ...base, ...nothing })
  assert.equal(answer.choices[0].finish_reason, 'stop')
})

test('the key is checked as on every route of the gateway', async () => {
  await using portico = await openPortico()
  const statusOf = async (authorization?: string): Promise<[number, unknown]> => {
    const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }
    const init = { method: 'POST', headers, body: JSON.stringify(base) }
    const answer = await portico.fetch('/api/v1/chat/completions', init)
    return [answer.status, await answer.json()]
  }
  assert.deepEqual(await statusOf(), [401, generationError(401, 'Missing Authentication header')])
  assert.deepEqual(await statusOf('Bearer wrong'), [401, generationError(401, 'Invalid API key or access token')])
  const management = `Bearer ${PORTICO_KEYS.management}`
  assert.deepEqual(await statusOf(management), [
    403,
    generationError(403, 'Management keys cannot perform this operation: use a workspace key'),
  ])
})

/** The path and message of the first problem of a body. */
function problemOf(body: string): string | undefined {
  const { error } = createChatBody.safeParse(JSON.parse(body), STOP_AT_FIRST)
  if (error === undefined) return undefined
  const { path, message } = firstProblem(error)
  return `${path.join('.')}: ${message}`
}

const many = (item: string, count: number): string => `[${Array.from({ length: count }, () => item).join()}]`

test('a list of any length is refused at its first problem', () => {
  const million = many('0', 1_000_000)
  assert.equal(problemOf(`{"messages":${million}}`), 'messages: has more than 50000 parts')
  const hello = '"messages":[{"role":"user","content":"x"}]'
  assert.equal(problemOf(`{${hello},"tools":${million}}`), 'tools: has more than 50000 items')
  assert.equal(problemOf(`{${hello},"models":${million}}`), 'models: must have at most 64 items')
  for (const list of ['content', 'tool_calls', 'reasoning_details', 'images', 'files', 'annotations']) {
    const message = `{"role":"assistant","${list}":${many('0', 100)}}`
    assert.equal(problemOf(`{"messages":${many(message, 501)}}`), 'messages: has more than 50000 parts')
  }
  const one = (text: string) => `{"type":"function","function":{"name":"f","parameters":${text}}}`
  const tools = `{${hello},"tools":${many(one(`{"enum":${many('0', 5_000)}}`), 11)}}`
  assert.equal(problemOf(tools), 'tools: their parameters have more than 50000 members')
  const hosted = `{${hello},"tools":[{"type":"web_search","a":${'['.repeat(40)}${']'.repeat(40)}}]}`
  assert.equal(problemOf(hosted), 'tools.0: must be nested at most 30 levels deep')
})

test('arguments of calls that would keep others waiting are refused', () => {
  const call = (text: string) =>
    `{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(text)}}}]}`
  const far =
    'are nested more than 100 levels deep, have more than 50000 members with those before, or a number of more than 1000 characters'
  const calls = `{"messages":${many(call(many('0', 5_000)), 11)}}`
  assert.equal(problemOf(calls), `messages.10.tool_calls.0.function.arguments: ${far}`)
  const deep = `{"messages":[${call('['.repeat(101))}]}`
  assert.equal(problemOf(deep), `messages.0.tool_calls.0.function.arguments: ${far}`)
})
