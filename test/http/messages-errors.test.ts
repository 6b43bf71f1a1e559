import assert from 'node:assert/strict'
import test from 'node:test'
import { reasons } from '#services/inference/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { generationError } from '#test/support/gateway-error.ts'
import { rawRequest } from '#test/support/raw-http.ts'
import { sendBytes } from '#test/support/raw-socket.ts'

const path = '/api/v1/messages'
const json = { 'content-type': 'application/json' }
const key = { 'x-api-key': TEST_KEYS.workspace }
/** What Anthropic's clients get; on a path that does not generate, there is no id. */
const envelope = (type: string, message: string, error_type: string, request_id: string | null = null) => ({
  type: 'error',
  error: { type, message, error_type },
  request_id,
})

test('a missing key, a wrong one, and two keys are 401 in the form of Anthropic that says how to authenticate', async () => {
  await using facade = await openFacade()
  const post = async (headers: Record<string, string>) => {
    const answer = await facade.fetch(path, { method: 'POST', headers: { ...json, ...headers }, body: '{}' })
    const { request_id, ...shown } = (await answer.json()) as { request_id: string }
    assert.match(request_id, /^gen-/)
    assert.deepEqual(
      [request_id, request_id],
      ['x-generation-id', 'request-id'].map((name) => answer.headers.get(name)),
    )
    const challenge = answer.headers.get('www-authenticate')
    return { status: answer.status, challenge, body: { ...shown, request_id: null } }
  }
  const type = ['authentication_error', 'Missing Authentication header', 'authentication'] as const
  assert.deepEqual(await post({}), { status: 401, challenge: 'Bearer realm="portico"', body: envelope(...type) })
  const wrong = {
    status: 401,
    challenge: 'Bearer realm="portico", error="invalid_token"',
    body: envelope('authentication_error', 'Invalid API key or access token', 'authentication'),
  }
  assert.deepEqual(await post({ 'x-api-key': 'pk_ws_wrong' }), wrong)
  assert.deepEqual(await post({ 'x-api-key': '' }), wrong)
  assert.deepEqual(await post({ authorization: 'Bearer pk_ws_wrong' }), wrong)
  const problem = 'Invalid request parameters: x-api-key: must be the key of the header authorization'
  const invalid = envelope('invalid_request_error', problem, 'invalid_request')
  const two = { status: 400, challenge: null, body: { ...invalid, error: { ...invalid.error, param: 'x-api-key' } } }
  assert.deepEqual(await post({ ...key, authorization: 'Bearer pk_ws_other' }), two)
  for (const both of [key, { ...key, authorization: `Bearer ${TEST_KEYS.workspace}` }]) {
    assert.notEqual((await post(both)).status, 401)
  }
})

test('x-api-key is no credential elsewhere', async () => {
  await using facade = await openFacade()
  const answer = await facade.fetch('/api/v1/responses', { method: 'POST', headers: { ...json, ...key }, body: '{}' })
  assert.equal(answer.status, 401)
  assert.deepEqual(await answer.json(), generationError(401, 'Missing Authentication header'))
})

test('unknown paths below, and bytes that are not HTTP, are refused in the same envelope', async () => {
  await using facade = await openFacade()
  const unknown = await facade.fetch(`${path}/nothing`, { headers: key })
  assert.equal(unknown.status, 404)
  assert.deepEqual(await unknown.json(), envelope('not_found_error', 'Resource not found: no such route', 'not_found'))
  const { status, body } = await sendBytes(facade.url, `POST ${path}?x HTTP/1.1\r\nContent-Length: x\r\n\r\n`)
  assert.equal(status, 400)
  const malformed = 'Invalid request parameters: the request is not valid HTTP'
  assert.deepEqual(JSON.parse(body), envelope('invalid_request_error', malformed, 'invalid_request'))
  const refused = await rawRequest(`${facade.url}${path}`, { method: 'POST', headers: { ...key, expect: 'tea' } })
  assert.equal(refused.status, 417)
  assert.equal(JSON.parse(refused.text).error.type, 'invalid_request_error')
})

test('another method, another type, and a body that is too long are refused in the form of Anthropic', async () => {
  await using facade = await openFacade({}, { PORTICO_PROMPT_LIMIT_BYTES: '1024' })
  const ask = async (method: string, headers: Record<string, string>, body?: string, at = path) => {
    const answer = await facade.fetch(at, { method, headers: { ...key, ...headers }, ...(body && { body }) })
    const { request_id, ...shown } = (await answer.json()) as { request_id: string | null }
    assert.equal(request_id, answer.headers.get('x-generation-id'))
    return [answer.status, { ...shown, request_id: null }] as const
  }
  const invalid = 'invalid_request_error'
  for (const at of [path, '/v1/messages', `${path}/count_tokens`]) {
    const [status, body] = await ask('GET', {}, undefined, at)
    assert.deepEqual(
      [status, body],
      [405, envelope(invalid, 'Method not allowed. Allowed here: POST', 'invalid_request')],
      at,
    )
  }
  const text = 'The content type must be application/json'
  assert.deepEqual(await ask('POST', { 'content-type': 'text/plain' }, '{}'), [
    415,
    envelope(invalid, text, 'invalid_request'),
  ])
  const long = 'Payload too large: the body has more than 1024 bytes'
  assert.deepEqual(await ask('POST', json, JSON.stringify({ model: 'x'.repeat(2_000) })), [
    413,
    envelope(invalid, long, 'payload_too_large'),
  ])
})

test('a late error has the same envelope, after white space or as the last event', async () => {
  const silent = Promise.withResolvers<never>()
  await using facade = await openFacade(
    {
      reasons,
      inference: {
        generate: () => silent.promise,
        async *streamGenerate() {
          yield { events: [{ event: { case: 'started' as const, value: { model: 'a/b', providerId: 'a' } } }] }
          await silent.promise
        },
      },
    },
    { PORTICO_KEEP_ALIVE_MS: '20' },
  )
  const said = 'Provider overloaded: anthropic is unavailable: Full'
  const late = envelope('overloaded_error', said, 'provider_overloaded')
  for (const stream of [false, true]) {
    const body = JSON.stringify({ model: 'a/b', messages: [{ role: 'user', content: 'x' }], stream })
    const answer = await facade.fetch(path, { method: 'POST', headers: { ...json, ...key }, body })
    assert.equal(answer.status, 200)
    silent.reject(new Rejection('PROVIDER_UNAVAILABLE', { provider: 'anthropic', status: '529', message: 'Full' }))
    const text = await answer.text()
    const last = stream ? (text.trim().split('\ndata: ').at(-1) ?? '') : text
    assert.deepEqual(JSON.parse(last), { ...late, request_id: answer.headers.get('x-generation-id') })
  }
})

/** Bodies of the operations that generate, by their paths. */
const GENERATIONS = {
  '/api/v1/responses': { model: 'a/b', input: 'x' },
  '/api/v1/chat/completions': { model: 'a/b', messages: [{ role: 'user', content: 'x' }] },
  [path]: { model: 'a/b', messages: [{ role: 'user', content: 'x' }] },
  [`${path}/count_tokens`]: { model: 'a/b', messages: [{ role: 'user', content: 'x' }] },
}
const bearer = { authorization: `Bearer ${TEST_KEYS.workspace}` }

test('every answer of an operation that generates names its generation, a refusal as well, and so does Anthropic’s envelope', async () => {
  const rejects = { said: new Rejection('MODEL_NOT_FOUND', { model: 'a/b' }) as Error }
  const reject = (): never => {
    throw rejects.said
  }
  await using facade = await openFacade({ reasons, inference: { generate: reject, countTokens: reject } })
  const post = async (at: string, body: string, more = {}) => {
    const answer = await facade.fetch(at, { method: 'POST', headers: { ...json, ...bearer, ...more }, body })
    const id = answer.headers.get('x-generation-id')
    assert.match(id ?? '', /^gen-\w{24}$/, at)
    const isMessages = at.startsWith(path)
    assert.equal(answer.headers.get('request-id'), isMessages ? id : null)
    assert.equal(((await answer.json()) as { request_id?: string }).request_id, isMessages ? id : undefined)
    return answer.status
  }
  for (const [at, body] of Object.entries(GENERATIONS)) {
    assert.equal(await post(at, JSON.stringify(body)), 400)
    assert.equal(await post(at, '{}'), 400)
    assert.equal(await post(at, '{'), 400)
    assert.equal(await post(at, '{}', { 'content-type': 'text/plain' }), 415)
    assert.equal(await post(at, '{}', { authorization: `Bearer ${TEST_KEYS.management}` }), 403)
    rejects.said = new Error('unplanned')
    assert.equal(await post(at, JSON.stringify(body)), 500)
    rejects.said = new Rejection('MODEL_NOT_FOUND', { model: 'a/b' })
  }
})

const asks = { ...bearer, ...json, 'x-openrouter-metadata': 'enabled' }

test('a request for metadata gets an error with how far it came: in time, late, and in a stream', async () => {
  const failure = new Rejection('PROVIDER_UNAVAILABLE', {
    ...{ provider: 'p', model: 'p/real', status: '529', message: 'Full' },
  })
  let rejects: Error = failure
  let begins = false
  let waits: Promise<void> | undefined
  await using facade = await openFacade(
    {
      reasons,
      inference: {
        async generate() {
          await waits
          throw rejects
        },
        async *streamGenerate() {
          if (begins)
            yield { events: [{ event: { case: 'started' as const, value: { model: 'p/real', providerId: 'p' } } }] }
          throw rejects
        },
      },
    },
    { PORTICO_KEEP_ALIVE_MS: '20' },
  )
  const common = { requested: 'a/b', strategy: 'direct', region: null, is_byok: false }
  const endpoints = { total: 1, available: [{ provider: 'p', model: 'p/real', selected: true }] }
  const attempts = [{ provider: 'p', model: 'p/real', status: 529 }]
  const failed = { ...common, summary: 'p failed', attempt: 1, endpoints, attempts }
  const nobody = { total: 0, available: [] }
  const unsent = { ...common, summary: 'no provider was called', attempt: 0, endpoints: nobody }
  for (const [at, body] of Object.entries(GENERATIONS).slice(0, 3)) {
    const post = async (more = {}, headers: Record<string, string> = asks) => {
      const text = JSON.stringify({ ...body, ...more })
      return (await facade.fetch(at, { method: 'POST', headers, body: text })).text()
    }
    const shownIn = async (answer: Promise<string>) => JSON.parse(await answer).openrouter_metadata
    rejects = failure
    for (const stream of [false, true]) assert.deepEqual(await shownIn(post({ stream })), failed, at)
    assert.equal(await shownIn(post({}, { ...bearer, ...json })), undefined)
    rejects = new Rejection('RATE_LIMITED', { problem: 'P' })
    assert.deepEqual(await shownIn(post()), unsent, at)
    const { summary, pipeline } = await shownIn(post({ models: ['c/d'], provider: { sort: 'price' } }))
    assert.equal(summary, 'no provider was called; not applied: models, provider.sort', at)
    const stage = { type: 'not_applied', summary: 'It was not applied' }
    assert.deepEqual(
      pipeline,
      ['models', 'provider.sort'].map((name) => ({ ...stage, name })),
      at,
    )
    rejects = new Error('unplanned')
    assert.equal(await shownIn(post()), undefined, at)

    rejects = failure
    const gate = Promise.withResolvers<void>()
    waits = gate.promise
    const late = facade.fetch(at, { method: 'POST', headers: asks, body: JSON.stringify(body) })
    const answer = await late
    gate.resolve()
    assert.equal(answer.status, 200)
    assert.deepEqual(await shownIn(answer.text()), failed, at)
    waits = undefined
    begins = true
    const last = (await post({ stream: true }))
      .split('\ndata: ')
      .filter((event) => !event.startsWith('[DONE]'))
      .at(-1)
    const said = JSON.parse(last?.split('\n')[0] ?? '')
    assert.deepEqual((said.response ?? said).openrouter_metadata, failed, at)
    begins = false
  }
})

test('a refusal before the body is read has the envelope and an id, too', async () => {
  const countTokens = (): never => {
    throw new Rejection('MODEL_NOT_FOUND', { model: 'a/b' })
  }
  await using facade = await openFacade({ reasons, inference: { countTokens } }, { PORTICO_PROMPT_LIMIT_BYTES: '1024' })
  const common = { requested: '', strategy: 'direct', region: null, is_byok: false }
  const unsent = {
    ...{ ...common, summary: 'no provider was called', attempt: 0 },
    endpoints: { total: 0, available: [] },
  }
  for (const at of Object.keys(GENERATIONS)) {
    for (const [status, headers, body] of [
      [401, { authorization: '' }, '{}'],
      [401, { authorization: 'Bearer pk_ws_wrong' }, '{}'],
      [403, { authorization: `Bearer ${TEST_KEYS.management}` }, '{}'],
      [400, {}, '{'],
      [400, {}, '{}'],
      [413, {}, JSON.stringify({ model: 'x'.repeat(2_000) })],
      [415, { 'content-type': 'text/plain' }, '{}'],
    ] as const) {
      const post = (wants: Record<string, string>) =>
        facade.fetch(at, { method: 'POST', headers: { ...wants, ...headers }, body })
      const answer = await post(asks)
      const { openrouter_metadata: metadata } = (await answer.json()) as { openrouter_metadata?: object }
      assert.deepEqual([answer.status, metadata], [status, unsent], at)
      assert.match(answer.headers.get('x-generation-id') ?? '', /^gen-\w{24}$/)
      const plain = (await (await post({ ...bearer, ...json })).json()) as object
      assert.equal('openrouter_metadata' in plain, false)
    }
  }
  const at = `${path}/count_tokens`
  const body = JSON.stringify(GENERATIONS[at])
  const answer = await facade.fetch(at, { method: 'POST', headers: asks, body })
  const { openrouter_metadata: metadata } = (await answer.json()) as { openrouter_metadata?: object }
  assert.deepEqual([answer.status, metadata], [400, { ...unsent, requested: 'a/b' }])
})
