import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { create } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { readConfig } from '#gateway/config.ts'
import { listen } from '#gateway/http/listen.ts'
import { type ExchangeTokenRequest, RecentExchangesSchema } from '#gen/portico/identity/v1/federation_service_pb.js'
import { MemoryExchangeCounts } from '#services/identity/adapters/exchange-counts.ts'
import { type ExchangeCounts, INTERVAL_MS } from '#services/identity/ports/exchange-counts.ts'
import { exchanges } from '#services/identity/rpc/exchanges.ts'
import { systemClock } from '#shared/clock.ts'
import type { ReasonTable } from '#shared/reasons.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { openFacade } from '#test/support/facade.ts'
import { type RawAnswer, rawRequest } from '#test/support/raw-http.ts'
import { FORM_TYPE, postToken, TOKEN_FORM, TOKEN_PATH, tokenForm } from '#test/support/token-form.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

const NOT_KEPT = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** A facade whose identity service exchanges any token, or rejects with what a test sets. */
async function openExchange(
  env: Record<string, string> = {},
  exchangeCounts: ExchangeCounts = new MemoryExchangeCounts(),
) {
  const seen: ExchangeTokenRequest[] = []
  const state: { reason?: AnyReason; metadata?: Record<string, string> } = {}
  const names = [
    ...['GRANT_REFUSED', 'SUBJECT_TOKEN_INVALID', 'SIGNING_UNAVAILABLE', 'STORE_UNAVAILABLE', 'SERVICE_CLOSING'],
    'ISSUER_KEYS_UNAVAILABLE',
  ]
  const reasons: ReasonTable = Object.fromEntries(names.map((name) => [name, { code: Code.Unknown, message: 'M' }]))
  const federation = {
    ...exchanges({ exchange: { exchange: () => assert.fail() }, exchangeCounts, clock: systemClock }),
    exchangeToken(request: ExchangeTokenRequest) {
      seen.push(request)
      if (state.reason !== undefined) throw new Rejection(state.reason, state.metadata)
      return { accessToken: 'the.access.token', expiresInSeconds: 900 }
    },
  }
  const facade = await openFacade({ federation, reasons }, env)
  return { facade, seen, state, url: facade.url, [Symbol.asyncDispose]: () => facade[Symbol.asyncDispose]() }
}

function expectError({ status, headers, text }: RawAnswer, expected: [number, string, RegExp?], what: string): void {
  const { error, error_description: description, ...more } = JSON.parse(text)
  assert.deepEqual([status, error, more], [expected[0], expected[1], {}], `${what}: ${text}`)
  assert.match(description, expected[2] ?? /./, what)
  assert.match(description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/, what)
  assert.deepEqual({ 'cache-control': headers['cache-control'], pragma: headers.pragma }, NOT_KEPT, what)
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', what)
}

test('a token is exchanged for a response of the five members, which must not be cached', async () => {
  await using exchange = await openExchange()
  const { status, headers, text } = await postToken(exchange.url, tokenForm())
  assert.equal(status, 200)
  assert.deepEqual(JSON.parse(text), {
    access_token: 'the.access.token',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: 900,
    scope: 'inference',
  })
  assert.deepEqual({ 'cache-control': headers['cache-control'], pragma: headers.pragma }, NOT_KEPT)
  const [request] = exchange.seen
  assert.equal(request?.federationPolicyId, TOKEN_FORM.federation_policy_id)
  assert.equal(request?.subjectToken, TOKEN_FORM.subject_token)
  assert.equal(request?.clientNetwork, '127.0.0.1')
})

test('49: unknown parameters, audience, resource, other credentials and an empty cookie are ignored; empty is left out', async () => {
  await using exchange = await openExchange({ PORTICO_AUTH: 'bearer' })
  const more = {
    ...{ audience: 'https://elsewhere.example', resource: 'urn:a', client_id: 'x', client_secret: 'y', 'a[b]': 'c' },
    ...{ scope: '', requested_token_type: '', actor_token: '' },
  }
  const headers = { authorization: 'Bearer sk-portico-wrong', cookie: '', accept: 'application/json', 'x-title': 't' }
  assert.equal((await postToken(exchange.url, tokenForm(more), headers)).status, 200)
  const asked = { scope: 'inference', requested_token_type: 'urn:ietf:params:oauth:token-type:access_token' }
  assert.equal((await postToken(exchange.url, tokenForm(asked))).status, 200)
  const upper = tokenForm({ federation_policy_id: TOKEN_FORM.federation_policy_id.toUpperCase() })
  assert.equal((await postToken(exchange.url, upper)).status, 200)
  assert.equal(exchange.seen[2]?.federationPolicyId, TOKEN_FORM.federation_policy_id)
})

test('48: a parameter that is given twice is invalid_request, known or not; so are more than 32', async () => {
  await using exchange = await openExchange()
  const twice = [...Object.keys(TOKEN_FORM), 'scope', 'requested_token_type', 'audience', 'resource', 'unheard', '']
  for (const name of twice) {
    const body = `${tokenForm({ scope: 'inference' })}&${name}=&${name}=`
    expectError(await postToken(exchange.url, body), [400, 'invalid_request', /only once/], name)
  }
  const many = (count: number) =>
    tokenForm(Object.fromEntries(Array.from({ length: count - 4 }, (_, i) => [`p${i}`, '1'])))
  assert.equal((await postToken(exchange.url, many(32))).status, 200)
  expectError(await postToken(exchange.url, many(33)), [400, 'invalid_request', /more than 32/], 'many')
  expectError(await postToken(exchange.url, `${tokenForm()}&subject_token[0]=a`), [400, 'invalid_request'], 'brackets')
})

test('58: checks the grant first, then missing parameters, then the scope, then the form of the token', async () => {
  await using exchange = await openExchange()
  const cases: [string, Record<string, string | undefined>, [number, string, RegExp?]][] = [
    ['all wrong', { grant_type: 'password', subject_token: '', scope: 'x' }, [400, 'unsupported_grant_type']],
    ['no grant', { grant_type: undefined, scope: 'x' }, [400, 'invalid_request', /^grant_type: is required/]],
    ['empty grant', { grant_type: '' }, [400, 'invalid_request', /^grant_type/]],
    ['a grant in capitals', { grant_type: TOKEN_FORM.grant_type.toUpperCase() }, [400, 'unsupported_grant_type']],
    ['no token', { subject_token: undefined, scope: 'x' }, [400, 'invalid_request', /^subject_token: is required/]],
    ['no type', { subject_token_type: '', scope: 'x' }, [400, 'invalid_request', /^subject_token_type/]],
    ['another type', { subject_token_type: 'urn:x' }, [400, 'invalid_request', /^subject_token_type: must be 'urn/]],
    ['no policy', { federation_policy_id: '', scope: 'x' }, [400, 'invalid_request', /^federation_policy_id/]],
    ['another scope', { scope: 'admin', subject_token: 'x' }, [400, 'invalid_scope']],
    ['two scopes', { scope: 'inference inference' }, [400, 'invalid_scope']],
    ['another result', { requested_token_type: 'urn:x', subject_token: 'x' }, [400, 'invalid_request', /^requested/]],
    [
      'no JWT',
      { subject_token: 'x', federation_policy_id: 'y' },
      [400, 'invalid_request', /^subject_token: is not a JWT/],
    ],
    ['a policy without form', { federation_policy_id: "' OR 1=1" }, [400, 'invalid_request', /^federation_policy_id/]],
  ]
  for (const [what, changes, expected] of cases) {
    expectError(await postToken(exchange.url, tokenForm(changes)), expected, what)
  }
  assert.equal(exchange.seen.length, 0, 'all before identity is asked')
})

test('9: refuses a token that is not three parts in base64url, also one with a newline at the end', async () => {
  await using exchange = await openExchange()
  const [header, payload, signature] = TOKEN_FORM.subject_token.split('.')
  const forms = [
    ...[
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.x`,
      `.${payload}.${signature}`,
      `${header}..x`,
      '..',
    ],
    ...[`${TOKEN_FORM.subject_token}\n`, ` ${TOKEN_FORM.subject_token}`, `${header}.${payload}.a=`, `${header}.a+/.x`],
    ...['\0', `${header}.${payload}.\0`, `${TOKEN_FORM.subject_token}\u{1d518}`],
  ]
  for (const subject_token of forms) {
    expectError(await postToken(exchange.url, tokenForm({ subject_token })), [400, 'invalid_request'], subject_token)
  }
  assert.equal(exchange.seen.length, 0)
})

test('50: a body of another type, charset or none at all is invalid_request, in the form of OAuth', async () => {
  await using exchange = await openExchange()
  for (const type of [`${FORM_TYPE}; charset=UTF-8`, `${FORM_TYPE};charset="utf-8"`, FORM_TYPE.toUpperCase()]) {
    assert.equal((await postToken(exchange.url, tokenForm(), { 'content-type': type })).status, 200, type)
  }
  const wrong = ['application/json', 'multipart/form-data; boundary=x', '', `${FORM_TYPE}x`]
  for (const type of [...wrong, ...['iso-8859-1', 'utf-16'].map((charset) => `${FORM_TYPE}; charset=${charset}`)]) {
    const answer = await postToken(exchange.url, tokenForm(), { 'content-type': type })
    expectError(answer, [400, 'invalid_request'], type)
  }
  expectError(await postToken(exchange.url, ''), [400, 'invalid_request'], 'no body')
  expectError(await postToken(exchange.url, Buffer.from('a=\xff', 'latin1')), [400, 'invalid_request'], 'not UTF-8')
})

test('51: more than 32 KB is 413, whether it says so or not; a compressed body is refused', async () => {
  await using exchange = await openExchange()
  const padded = (size: number) => `${tokenForm()}&pad=`.padEnd(size, 'x')
  assert.equal((await postToken(exchange.url, padded(32_768))).status, 200)
  expectError(await postToken(exchange.url, padded(32_769)), [413, 'invalid_request'], 'said')
  const chunked = { 'transfer-encoding': 'chunked' }
  expectError(await postToken(exchange.url, padded(40_000), chunked), [413, 'invalid_request'], 'chunked')
  const zipped = await postToken(exchange.url, gzipSync(tokenForm()), { 'content-encoding': 'gzip' })
  expectError(zipped, [400, 'invalid_request'], 'gzip')
})

test('52: a subject token of more than 16,384 characters is invalid_request', async () => {
  await using exchange = await openExchange()
  const sized = (size: number) => tokenForm({ subject_token: `${'e30'.padEnd(size - 4, 'x')}.e.e` })
  assert.equal((await postToken(exchange.url, sized(16_384))).status, 200)
  expectError(await postToken(exchange.url, sized(16_385)), [400, 'invalid_request', /^subject_token/], 'long')
})

test('53: bad percent escapes and NUL are text, and fit nothing', async () => {
  await using exchange = await openExchange()
  const grant = encodeURIComponent(TOKEN_FORM.grant_type)
  for (const body of [`grant_type=%zz`, `grant_type=%00`, `grant_type=%ff`, `grant_type=${grant}%00`]) {
    expectError(
      await postToken(exchange.url, body),
      [400, body.includes('%00') ? 'invalid_request' : 'unsupported_grant_type'],
      body,
    )
  }
  expectError(
    await postToken(exchange.url, `grant_type=${grant}&%zz=%`),
    [400, 'invalid_request', /^subject_token/],
    'a',
  )
})

test('54: another method is 405 with Allow, and no CORS header is sent for any configured origin', async () => {
  await using exchange = await openExchange({ PORTICO_CORS_ORIGINS: 'https://app.example' })
  const ask = (method: string, headers: Record<string, string> = {}) =>
    rawRequest(exchange.url, { path: TOKEN_PATH, method, headers: { origin: 'https://app.example', ...headers } })
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await ask(method)
    expectError(answer, [405, 'invalid_request'], method)
    assert.equal(answer.headers.allow, 'POST')
  }
  const head = await ask('HEAD')
  assert.deepEqual([head.status, head.headers.allow, head.text], [405, 'POST', ''])
  const preflight = await ask('OPTIONS', { 'access-control-request-method': 'POST' })
  assert.deepEqual([preflight.status, preflight.headers.allow], [204, 'POST'])
  const posted = await postToken(exchange.url, tokenForm(), { origin: 'https://app.example' })
  for (const { headers } of [head, preflight, posted]) {
    assert.equal(headers['cache-control'], 'no-store')
    for (const name of Object.keys(headers)) assert.doesNotMatch(name, /^(access-control-|vary$)/)
  }
})

test('55, 56: each reason of identity has its row; a refused grant is one constant answer', async () => {
  await using exchange = await openExchange()
  const rows: [AnyReason, number, string, RegExp][] = [
    ['GRANT_REFUSED', 400, 'invalid_grant', /^The subject token was not accepted\.$/],
    ['SUBJECT_TOKEN_INVALID', 400, 'invalid_request', /JWT/],
    ['ISSUER_KEYS_UNAVAILABLE', 503, 'temporarily_unavailable', /keys/],
    ['SIGNING_UNAVAILABLE', 500, 'server_error', /^The token could not be issued: PORTICO_KEY_ENCRYPTION_KEY /],
    ['STORE_UNAVAILABLE', 503, 'temporarily_unavailable', /./],
    ['SERVICE_CLOSING', 503, 'temporarily_unavailable', /./],
    ['SOMETHING_NEW' as AnyReason, 500, 'server_error', /./],
  ]
  for (const [reason, status, error, description] of rows) {
    exchange.state.reason = reason
    const answer = await postToken(exchange.url, tokenForm())
    expectError(answer, [status, error, description], reason)
    const retry = answer.headers['retry-after']
    assert.equal(retry === undefined, status !== 503, reason)
    if (retry !== undefined) assert.match(retry, /^[1-9]\d*$/, reason)
  }
})

test('55: keys that could not be fetched say when they will be tried again', async () => {
  await using exchange = await openExchange()
  Object.assign(exchange.state, { reason: 'ISSUER_KEYS_UNAVAILABLE', metadata: { retry_after: '47' } })
  const { status, headers } = await postToken(exchange.url, tokenForm())
  assert.deepEqual([status, headers['retry-after']], [503, '47'])
})

test('59: requests beyond the limit of an address are 429 before their body is read; other addresses are served', async () => {
  await using exchange = await openExchange({ PORTICO_EXCHANGES_PER_MINUTE: '3', PORTICO_TRUSTED_PROXIES: '127.0.0.1' })
  const from = (address: string, body = tokenForm()) => postToken(exchange.url, body, { 'x-forwarded-for': address })
  expectError(await from('192.0.2.1', 'x'), [400, 'invalid_request'], 'a malformed one counts')
  for (let i = 0; i < 2; i++) assert.equal((await from('192.0.2.1')).status, 200)
  for (const body of [tokenForm(), 'x'.repeat(50_000), '']) {
    const refused = await from('192.0.2.1', body)
    expectError(refused, [429, 'invalid_request', /address/], 'refused')
    const seconds = Number(refused.headers['retry-after'])
    assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 64, `${seconds}`)
  }
  expectError(await from('198.51.100.9, 192.0.2.1'), [429, 'invalid_request'], 'a forged entry does not help')
  assert.equal((await from('192.0.2.2')).status, 200)
  assert.equal((await from('2001:db8::1')).status, 200)
  assert.equal(exchange.seen.at(-1)?.clientNetwork, '2001:db8:0:0::/64')
})

test('59: two gateways together admit at most the limit, plus the requests between two reports', async () => {
  const counts = new MemoryExchangeCounts()
  const env = { PORTICO_EXCHANGES_PER_MINUTE: '20' }
  await using one = await openExchange(env, counts)
  await using two = await openExchange(env, counts)
  const admitted = async ({ url }: { url: string }, times: number) => {
    const answers = await Promise.all(Array.from({ length: times }, () => postToken(url, tokenForm())))
    return answers.filter(({ status }) => status === 200).length
  }
  const reported = async (total: number) => {
    const [known] = await counts.add(Math.floor(Date.now() / INTERVAL_MS), [
      create(RecentExchangesSchema, { network: '127.0.0.1' }),
    ])
    return known?.counts.reduce((sum, count) => sum + count, 0) === total
  }
  const learnt = async (total: number) => {
    await waitFor(`${total} are reported`, () => reported(total))
    // The answer to a report arrives within this process, a few turns later.
    for (let turn = 0; turn < 50; turn++) await setImmediate()
  }
  assert.equal(await admitted(one, 14), 14)
  await learnt(14)
  assert.equal(await admitted(two, 1), 1)
  await learnt(15)
  assert.equal(await admitted(two, 20), 5)
  await learnt(20)
  assert.equal(await admitted(one, 9), 6, 'it knows what its last report was answered with')
  await learnt(26)
  assert.deepEqual([await admitted(one, 9), await admitted(two, 9)], [0, 0])
})

test('55: while the server starts it answers in the form of OAuth, too, and says when to come back', async () => {
  const listener = await listen(readConfig({ PORTICO_PORT: '0' }), silentLogger)
  const answer = await postToken(listener.url, tokenForm())
  expectError(answer, [503, 'temporarily_unavailable'], 'starting')
  assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
  await listener[Symbol.asyncDispose]()
})

test('55: a server that stops still exchanges tokens, and refuses in the form of OAuth once identity is closing', async () => {
  await using exchange = await openExchange()
  exchange.facade.listener.unready()
  const exchanged = await postToken(exchange.url, tokenForm())
  assert.deepEqual([exchanged.status, exchanged.headers.connection], [200, 'close'])
  exchange.state.reason = 'SERVICE_CLOSING'
  const refused = await postToken(exchange.url, tokenForm())
  expectError(refused, [503, 'temporarily_unavailable'], 'stopping')
  assert.deepEqual([refused.headers['retry-after'], refused.headers.connection], ['1', 'close'])
})
