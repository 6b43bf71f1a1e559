import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { createChatCompletion } from '#gateway/chat/operations.ts'
import { reasons } from '#services/inference/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { chunksOf } from '#test/support/chat.ts'
import { openFacade, TEST_KEYS, type TestFacade } from '#test/support/facade.ts'
import type { Json } from '#test/support/responses.ts'

const provider = { provider: 'openai', message: 'Because' }
const invalid = 'Invalid request parameters'
const url = 'messages.0.content.1.image_url.url'
const typed = (error_type: string) => ({ metadata: { provider_name: 'openai', error_type } })

/**
 * Errors: what the service reports and what a client gets; `type`: the error's type, where it follows from the status.
 */
const ERRORS: Readonly<Record<string, { said: Record<string, string>; error: Json; type?: string }>> = {
  MODEL_NOT_FOUND: {
    said: { model: 'm' },
    error: {
      code: 400,
      message: `${invalid}: model: The model "m" does not exist; GET /api/v1/models lists all models`,
      param: 'model',
    },
    type: 'invalid_request',
  },
  PRESET_NOT_FOUND: {
    said: { slug: 's' },
    error: { code: 404, message: 'Resource not found: The preset "s" does not exist' },
    type: 'not_found',
  },
  REQUEST_INVALID: {
    said: { field: 'messages[0].parts[1].image.data', problem: 'must not be empty' },
    error: { code: 400, message: `${invalid}: ${url}: must not be empty`, param: url },
    type: 'invalid_request',
  },
  REQUEST_DUPLICATE: {
    said: { request_id: 'r' },
    error: { code: 409, message: 'Resource conflict. Please try again later.' },
    type: 'invalid_request',
  },
  CREDIT_INSUFFICIENT: {
    said: { limit: 'key', problem: 'P' },
    error: {
      code: 402,
      message: 'Insufficient credits: The limit of the key leaves too little: P',
      metadata: { error_type: 'payment_required' },
    },
  },
  RATE_LIMITED: {
    said: { problem: 'P', most: '1', reset: '2', retry_after: '3' },
    error: { code: 429, message: 'Rate limit exceeded: P', metadata: { error_type: 'rate_limit_exceeded' } },
  },
  PROVIDER_REFUSED: {
    said: { ...provider, status: '422' },
    error: { code: 422, message: 'Invalid argument: openai refused the request: Because', ...typed('unprocessable') },
  },
  PROVIDER_RATE_LIMITED: {
    said: { ...provider, status: '429' },
    error: {
      code: 429,
      message: 'Rate limit exceeded: openai is rate limiting requests: Because',
      ...typed('rate_limit_exceeded'),
    },
  },
  PROVIDER_UNAVAILABLE: {
    said: { ...provider, status: '529' },
    error: {
      code: 503,
      message: 'Provider overloaded: openai is unavailable: Because',
      ...typed('provider_overloaded'),
    },
  },
  PROVIDER_TIMEOUT: {
    said: { provider: 'openai' },
    error: { code: 408, message: 'Operation timed out: openai did not answer in time', ...typed('timeout') },
  },
}

const picture = { type: 'image_url', image_url: { url: 'data:,' } }
const messages = [{ role: 'user', content: [{ type: 'text', text: 'x' }, picture] }]

function post(facade: TestFacade, body: object): Promise<Response> {
  return facade.fetch('/api/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${TEST_KEYS.workspace}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages, ...body }),
  })
}

test('each of the tested errors is declared', () => {
  const declared: readonly string[] = createChatCompletion.errors
  for (const reason of Object.keys(ERRORS)) assert.ok(declared.includes(reason), reason)
})

for (const [reason, { said, error, type }] of Object.entries(ERRORS)) {
  test(`${reason} is the same for JSON and for a stream that has not begun, and ends one that has`, async () => {
    const reject = (): never => {
      throw new Rejection(reason as never, said)
    }
    let begins = false
    await using facade = await openFacade({
      reasons,
      inference: {
        generate: reject,
        async *streamGenerate() {
          if (begins) yield { events: [{ event: { case: 'started', value: { model: 'm', providerId: 'openai' } } }] }
          reject()
        },
      },
    })
    for (const stream of [false, true]) {
      const answer = await post(facade, { stream })
      assert.deepEqual(await answer.json(), { error: { metadata: { error_type: type }, ...error } })
      assert.equal(answer.status, error.code)
    }
    begins = true
    const last = chunksOf(await (await post(facade, { stream: true })).text()).at(-1)
    const { param: _, ...late } = error
    assert.deepEqual(last?.error, { metadata: { error_type: type }, ...late })
    assert.equal(last?.choices[0].finish_reason, 'error')
  })
}

test('a generation that ends without its last event fails the stream', async () => {
  await using facade = await openFacade({
    inference: {
      async *streamGenerate() {
        yield { events: [{ event: { case: 'started', value: { model: 'm', providerId: 'openai' } } }] }
      },
    },
  })
  const last = chunksOf(await (await post(facade, { stream: true })).text()).at(-1)
  assert.deepEqual(last?.error, { code: 500, message: 'Internal Server Error', metadata: { error_type: 'server' } })
})

test('a stream whose service goes away ends with an error that names it', async () => {
  await using facade = await openFacade({
    inference: {
      async *streamGenerate() {
        yield { events: [{ event: { case: 'started', value: { model: 'm', providerId: 'openai' } } }] }
        throw new ConnectError('x', Code.Unavailable)
      },
    },
  })
  const last = chunksOf(await (await post(facade, { stream: true })).text()).at(-1)
  const message = 'Service temporarily unavailable: the inference service cannot be reached'
  assert.deepEqual([last?.error.code, last?.error.message], [503, message])
})

test('a failure of Portico itself reveals nothing of its cause', async () => {
  await using facade = await openFacade({
    inference: {
      generate: () => {
        throw new Error('secret')
      },
    },
  })
  const answer = await post(facade, {})
  assert.deepEqual(
    [answer.status, await answer.json()],
    [500, { error: { code: 500, message: 'Internal Server Error', metadata: { error_type: 'server' } } }],
  )
})

test('a field of a service has the name that the client gave it', async () => {
  let field = ''
  const reject = (): never => {
    throw new Rejection('REQUEST_INVALID', { field, problem: 'P' })
  }
  await using facade = await openFacade({ reasons, inference: { generate: reject } })
  const body = {
    messages: [
      { role: 'system', content: 'x' },
      { role: 'assistant', content: null },
      {
        role: 'assistant',
        reasoning_details: [{ type: 'reasoning.text', text: 't' }],
        content: 'y',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
        files: [{ type: 'file', file: { file_data: 'data:,x', filename: 'n' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'one' },
      { role: 'tool', tool_call_id: 'd', content: [{ type: 'text', text: 'a' }, picture] },
      { role: 'user', content: [{ type: 'file', file: { file_data: 'data:,x', filename: 'n' } }] },
    ],
    tools: [{ type: 'web_search' }, { type: 'function', function: { name: 'f' } }],
    max_tokens: 1,
    logprobs: true,
    safety_identifier: 's',
    prompt_cache_key: 'k',
  }
  const names: Readonly<Record<string, string>> = {
    messages: 'messages',
    'messages[0].parts[0]': 'messages.0.content',
    'messages[1].parts': 'messages.2',
    'messages[1].parts[0]': 'messages.2.reasoning_details.0',
    'messages[1].parts[1]': 'messages.2.content',
    'messages[1].parts[2].file.name': 'messages.2.files.0.file.filename',
    'messages[1].parts[3]': 'messages.2.tool_calls.0',
    'messages[2].parts[0].tool_result.content': 'messages.3.content',
    'messages[2].parts[1].tool_result.content[1].image.data': 'messages.4.content.1.image_url.url',
    'messages[3].parts[0].file.data': 'messages.5.content.0.file.file_data',
    'messages[3].parts[0].file.name': 'messages.5.content.0.file.filename',
    'tools[0].name': 'tools.1.function.name',
    max_output_tokens: 'max_tokens',
    'sampling.top_k': 'top_k',
    'sampling.top_log_probabilities': 'logprobs',
    'sampling.stop[3]': 'stop',
    'response_format.json_schema.name': 'response_format.json_schema.name',
    'reasoning.max_tokens': 'reasoning.max_tokens',
    user: 'safety_identifier',
    session_id: 'prompt_cache_key',
  }
  for (const [named, shown] of Object.entries(names)) {
    field = named
    const { error } = (await (await post(facade, body)).json()) as Json
    assert.equal(error.message, `${invalid}: ${shown}: P`)
  }
  field = 'messages[0].parts'
  const { error } = (await (await post(facade, { messages: undefined, prompt: 'x' })).json()) as Json
  assert.equal(error.message, `${invalid}: prompt: P`)
})
