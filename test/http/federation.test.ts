import assert from 'node:assert/strict'
import test from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import { newTokenKey, signToken, type TokenKey } from '#test/support/subject-tokens.ts'
import { postToken, tokenForm } from '#test/support/token-form.ts'

const ISSUER = 'https://ci.example'
const key = newTokenKey('RS256', 'one')

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever an operation answers; its schema is checked by the judge.
  readonly json: any
}

/** Calls as an admin of the organization, with paths below it. */
function adminOf({ fetch, organizationId }: Portico) {
  return async (method: string, path: string, body?: unknown, organization = organizationId): Promise<Answer> => {
    const headers = { authorization: `Bearer ${PORTICO_KEYS.management}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const answer = await fetch(`/api/v1/organizations/${organization}${path}`, { method, headers, ...sent })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
  }
}

const INLINE = { name: 'CI', issuer_url: ISSUER, jwks: { keys: [key.jwk] } }

/** The id of the first workspace key, as an admin finds it. */
async function keyIdOf({ fetch }: Portico): Promise<string> {
  const answer = await fetch('/api/v1/keys', { headers: { authorization: `Bearer ${PORTICO_KEYS.management}` } })
  return ((await answer.json()) as Answer['json']).data[0].key_id
}

/** An issuer with its keys, and a policy for the first workspace key. */
async function register(portico: Portico) {
  const admin = adminOf(portico)
  const keyId = await keyIdOf(portico)
  const issuer = (await admin('POST', '/issuers', INLINE)).json.data
  const policy = { name: 'Jobs', issuer_id: issuer.id, subject: 'job', audience: 'portico', key_id: keyId }
  return {
    admin,
    keyId,
    issuerId: issuer.id as string,
    policyId: (await admin('POST', '/policies', policy)).json.data.id,
  }
}

function subjectToken(changes: object = {}, signedBy: TokenKey = key): string {
  const now = Math.floor(Date.now() / 1_000)
  return signToken({ iss: ISSUER, sub: 'job', aud: 'portico', iat: now, exp: now + 300, ...changes }, signedBy)
}

async function exchange(portico: Portico, policyId: string, token = subjectToken()): Promise<Answer> {
  const form = tokenForm({ subject_token: token, federation_policy_id: policyId })
  const { status, text } = await postToken(portico.url, form)
  return { status, json: JSON.parse(text) }
}

test('a token is exchanged for one that acts as the key of the policy, until the key is disabled', async () => {
  await using portico = await openPortico({ PORTICO_AUTH: 'bearer' })
  const { keyId, policyId } = await register(portico)
  const { status, json } = await exchange(portico, policyId)
  assert.equal(status, 200)
  assert.ok(json.expires_in > 290 && json.expires_in <= 300)
  const ask = (path: string) =>
    portico.fetch(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${json.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'portico/echo', input: '/length 2' }),
    })
  assert.equal((await ask('/api/v1/responses')).status, 200)
  assert.equal((await ask('/api/session')).status, 403)
  assert.equal((await ask(`/api/v1/organizations/${portico.organizationId}/issuers`)).status, 403)
  const updateMask = { paths: ['disabled'] }
  await portico.identity.updateApiKey({ keyId, disabled: true, updateMask }, portico.operator)
  assert.equal((await ask('/api/v1/responses')).status, 401)
  assert.equal((await exchange(portico, policyId)).json.error, 'invalid_grant')
})

test('an access token has the rights of its target key below /api/v1, and its usage counts for that key', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }]
  await using stub = await startStub(answers(200, { id: 'c', object: 'chat.completion', created: 1, choices, usage }))
  const models = [{ id: 'gpt', pricing: { input: 1, output: 2 } }]
  const provider = { id: 'priced', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
  const { policyId } = await register(portico)
  const token = (await exchange(portico, policyId)).json.access_token as string
  const ask = async (path: string, bearer: string, body?: object): Promise<Answer> => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answer = await portico.fetch(`/api/v1${path}`, { headers, ...sent })
    return { status: answer.status, json: await answer.json() }
  }
  const model = 'priced/gpt'
  const messages = [{ role: 'user', content: 'Hi' }]
  const counted = await ask('/messages/count_tokens', token, { model, messages })
  assert.equal(counted.status, 200)
  const ids: string[] = []
  for (const [path, body] of [
    ['/responses', { model, input: 'Hi' }],
    ['/chat/completions', { model, messages }],
    ['/messages', { model, messages, max_tokens: 10 }],
  ] as const) {
    const { status, json } = await ask(path, token, body)
    assert.equal(status, 200, path)
    ids.push(`gen-${json.id.replace(/^[a-z]+[-_]/, '')}`)
  }
  const reads = [
    '/key',
    '/models',
    '/models/count',
    '/models/user',
    '/model/priced/gpt',
    '/models/priced/gpt/endpoints',
  ]
  for (const path of [...reads, '/providers', '/presets', ...ids.map((id) => `/generation?id=${id}`)]) {
    const { status, json } = await ask(path, token)
    assert.equal(status, 200, path)
    assert.deepEqual(json, (await ask(path, PORTICO_KEYS.api)).json, path)
    if (path === '/key') assert.equal(json.data.usage, 3 * 7e-6)
    if (path.startsWith('/generation')) assert.equal(json.data.total_cost, 7e-6)
  }
  for (const path of ['/keys', '/credits', '/activity']) assert.equal((await ask(path, token)).status, 403, path)
  const { json: keys } = await ask('/keys', PORTICO_KEYS.management)
  const { json: activity } = await ask(`/activity?api_key_hash=${keys.data[0].hash}`, PORTICO_KEYS.management)
  const cost = activity.data.reduce((sum: number, { usage }: { usage: number }) => sum + usage, 0)
  assert.equal(Number(cost.toFixed(9)), 2.1e-5)
})

test('56, 64: every refusal has the same answer, and a policy that is paused, changed or removed refuses at once', async () => {
  await using portico = await openPortico()
  const { admin, policyId, issuerId } = await register(portico)
  const refused = { error: 'invalid_grant', error_description: 'The subject token was not accepted.' }
  const expectRefused = async (id = policyId, token?: string) =>
    assert.deepEqual(await exchange(portico, id, token), { status: 400, json: refused })
  await expectRefused('00000000-0000-4000-8000-000000000000')
  await expectRefused(policyId, subjectToken({ aud: 'other' }))
  await expectRefused(policyId, subjectToken({ sub: 'Job' }))
  await expectRefused(policyId, subjectToken({ exp: 1 }))
  await expectRefused(policyId, subjectToken({}, newTokenKey('RS256', 'one')))
  const path = `/policies/${policyId}`
  const expectAccepted = async () => assert.equal((await exchange(portico, policyId)).status, 200)
  await expectAccepted()
  assert.equal((await admin('POST', `${path}/pause`)).json.data.enabled, false)
  await expectRefused()
  assert.equal((await admin('POST', `${path}/resume`)).json.data.enabled, true)
  await expectAccepted()
  assert.deepEqual((await admin('POST', `${path}/checks`, { scope: 'deploy' })).json.data.checks, { scope: 'deploy' })
  assert.equal((await admin('POST', `${path}/checks`, { scope: 'other' })).status, 409)
  const unknown = await admin('POST', `${path}/checks`, { type: 'token_type', value: 'id_token' })
  const problem = 'Invalid request parameters: the body may only have scope and token_type'
  assert.deepEqual([unknown.status, unknown.json.error.message], [400, problem])
  await expectRefused()
  assert.equal((await exchange(portico, policyId, subjectToken({ scopes: ['deploy'] }))).status, 200)
  assert.deepEqual((await admin('DELETE', `${path}/checks/scope`)).json.data.checks, {})
  assert.equal((await admin('DELETE', `${path}/checks/scope`)).status, 404)
  await expectAccepted()
  assert.equal((await admin('PATCH', path, { subject: null, condition: 'subject.startsWith("x")' })).status, 200)
  await expectRefused()
  assert.equal((await admin('PATCH', path, { condition: 'subject.startsWith("j")' })).json.data.subject, null)
  await expectAccepted()
  assert.equal(
    (await admin('PATCH', `/issuers/${issuerId}`, { jwks: { keys: [newTokenKey('RS256', 'one').jwk] } })).status,
    200,
  )
  await expectRefused()
  assert.equal((await admin('PATCH', `/issuers/${issuerId}`, { jwks: INLINE.jwks })).json.data.revision, 3)
  await expectAccepted()
  assert.equal((await admin('GET', path)).json.data.issuer_deleted, false)
  assert.equal((await admin('DELETE', `/issuers/${issuerId}`)).status, 204)
  await expectRefused()
  assert.equal((await admin('GET', path)).json.data.issuer_deleted, true)
  assert.equal((await admin('DELETE', path)).status, 204)
  await expectRefused()
  const last = (await admin('GET', `/audit?policy_id=${policyId}&reason=policy&limit=1`)).json.data[0]
  assert.deepEqual([last.type, last.found, last.issuer_id], ['exchange_refused', 'deleted', issuerId])
})

test('issuers and policies are listed by offset and limit, with how many there are', async () => {
  await using portico = await openPortico()
  const { admin, issuerId, policyId } = await register(portico)
  const second = (await admin('POST', '/issuers', { name: 'Two', issuer_url: 'https://two.example' })).json.data
  assert.deepEqual([second.jwks, second.jwks_url, second.single_use, second.key_health], [null, null, false, null])
  const all = (await admin('GET', '/issuers')).json
  assert.deepEqual([all.data.map(({ id }: { id: string }) => id), all.total_count], [[issuerId, second.id], 2])
  const page = (await admin('GET', '/issuers?offset=1&limit=1')).json
  assert.deepEqual(page, { data: [second], total_count: 2 })
  assert.deepEqual((await admin('GET', `/issuers/${issuerId}`)).json.data, all.data[0])
  assert.deepEqual((await admin('GET', `/policies?issuer_id=${second.id}`)).json, { data: [], total_count: 0 })
  const policies = (await admin('GET', '/policies')).json
  assert.deepEqual((await admin('GET', `/policies/${policyId}`)).json, { data: policies.data[0] })
  assert.equal((await admin('GET', '/issuers?limit=x')).status, 400)
})

test('an invalid issuer or policy is 400 and names the member; another organization is 404', async () => {
  await using portico = await openPortico()
  const { admin, issuerId, keyId } = await register(portico)
  const policy = { name: 'P', issuer_id: issuerId, audience: 'a', key_id: keyId }
  const refusals: [string, unknown, RegExp][] = [
    ['/issuers', { ...INLINE, issuer_url: 'http://ci.example' }, /: issuer_url: /],
    [
      '/issuers',
      { ...INLINE, jwks_url: 'https://ci.example/jwks' },
      /: jwks: must not be given together with jwks_url/,
    ],
    ['/issuers', { name: 'x', issuer_url: 'https://127.0.0.1/' }, /: issuer_url: /],
    ['/issuers', { name: 'x' }, /: issuer_url: is required/],
    ['/issuers', { ...INLINE, single_user: true }, /unknown member "single_user"/],
    ['/issuers', { ...INLINE, token_file: '/etc/passwd' }, /unknown member "token_file"/],
    ['/policies', { ...policy, subject: 'a', conditon: 'false' }, /unknown member "conditon"/],
    ['/policies/test', { subject_token: 'a', policy: { ...policy, conditon: 'false' } }, /unknown member "conditon"/],
    ['/policies', policy, /: subject: /],
    ['/policies', { ...policy, condition: 'subject.matches("a")' }, /: condition: /],
    ['/policies', { ...policy, subject: 'a', key_id: 'key_unknown' }, /: key_id: /],
    [`/policies`, { ...policy, subject: 'x'.repeat(513) }, /: subject: /],
  ]
  for (const [path, body, message] of refusals) {
    const { status, json } = await admin('POST', path, body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.error.message, message)
  }
  const empty = await admin('PATCH', `/issuers/${issuerId}`, {})
  assert.deepEqual([empty.status, /must name the fields to change/.test(empty.json.error.message)], [400, true])
  for (const path of ['/issuers', '/policies', '/audit', `/issuers/${issuerId}`]) {
    assert.equal((await admin('GET', path, undefined, 'org_other')).status, 404, path)
  }
})

test('the last of two members with the same name counts, in the answer and in the audit log', async () => {
  await using portico = await openPortico()
  const admin = adminOf(portico)
  const { status, json } = await admin('POST', '/issuers', JSON.stringify(INLINE).replace('{', '{"name":"first",'))
  assert.deepEqual([status, json.data.name], [201, 'CI'])
  const [entry] = (await admin('GET', '/audit?limit=1')).json.data
  assert.equal(entry.after.name, 'CI')
})

test('the audit log lists events newest first, in pages and by filters', async () => {
  await using portico = await openPortico()
  const { admin, policyId, issuerId, keyId } = await register(portico)
  await exchange(portico, policyId)
  await exchange(portico, policyId, subjectToken({ sub: 'other' }))
  const { data, next_cursor: none } = (await admin('GET', '/audit')).json
  assert.equal(none, null)
  const types = data.map(({ type }: { type: string }) => type)
  assert.deepEqual(types.slice(0, 4), ['exchange_refused', 'exchange_accepted', 'change', 'change'])
  const [refused, accepted, created] = data
  assert.deepEqual([refused.policy_id, refused.key_id, refused.found], [policyId, keyId, '"other"'])
  const { key_id, subject, issuer_id, client_network } = accepted
  assert.deepEqual([key_id, subject, issuer_id, client_network], [keyId, 'job', issuerId, '127.0.0.1'])
  assert.deepEqual([created.resource, created.resource_id, created.before], ['policy', policyId, null])
  const first = (await admin('GET', '/audit?limit=1')).json
  assert.deepEqual(first.data, [refused])
  const rest = (await admin('GET', `/audit?cursor=${encodeURIComponent(first.next_cursor)}`)).json
  assert.deepEqual(rest.data, data.slice(1))
  const only = async (query: string) => (await admin('GET', `/audit?${query}`)).json.data
  assert.deepEqual(await only('type=exchange_accepted'), [accepted])
  assert.deepEqual(await only(`type=exchange_refused&policy_id=${policyId}&until=${refused.time}`), [])
  assert.deepEqual(await only('reason=subject'), [refused])
  assert.deepEqual(await only('subject=job'), [accepted])
  assert.deepEqual((await only(`key_id=${keyId}`)).slice(0, 2), [refused, accepted])
  const at = (offsetHours: number) => new Date(Date.parse(refused.time) + offsetHours * 3_600_000).toISOString()
  const east = `${at(2).slice(0, -1)}%2B02:00`
  assert.deepEqual(await only(`since=${east}`), await only(`since=${at(0)}`))
  assert.deepEqual((await only(`since=${at(-3).slice(0, -1)}-03:00`))[0], refused)
  for (const [query, member] of [
    ['cursor=x', 'cursor'],
    ['reason=subjects', 'reason'],
    ['key_id=x', 'key_id'],
    ['subject=', 'subject'],
    ['since=2026-07-01', 'since'],
    ['since=2026-07-01T12:00:00', 'since'],
    ['until=2026-07-01T12:00:00+02:00', 'until'],
  ] as const) {
    const { status, json } = await admin('GET', `/audit?${query}`)
    assert.equal(status, 400, query)
    assert.match(json.error.message, new RegExp(member), query)
  }
})

test('a test of a policy, saved or not, shows for each check the expected and the actual value', async () => {
  await using portico = await openPortico()
  const { admin, policyId, issuerId, keyId } = await register(portico)
  const rehearse = async (body: object) => (await admin('POST', '/policies/test', body)).json.data
  const good = await rehearse({ subject_token: subjectToken(), policy_id: policyId })
  assert.equal(good.accepted, true)
  const policy = { name: 'P', issuer_id: issuerId, subject: 'x', audience: 'portico', key_id: keyId }
  const bad = await rehearse({ subject_token: subjectToken(), policy })
  assert.equal(bad.accepted, false)
  const failed = bad.steps.filter(({ verdict }: { verdict: string }) => verdict === 'failed')
  assert.deepEqual(failed, [{ name: 'subject', verdict: 'failed', expected: '"x"', found: '"job"' }])
  for (const body of [{}, { policy_id: policyId, policy }]) {
    const { status } = await admin('POST', '/policies/test', { subject_token: 'a.b.c', ...body })
    assert.equal(status, 400)
  }
  const types = (await admin('GET', '/audit')).json.data.map(({ type }: { type: string }) => type)
  assert.ok(!types.includes('exchange_refused') && !types.includes('exchange_accepted'))
})

test('@openrouter/sdk exchanges a token, reads the key set, and sends requests with the token that it got', async () => {
  await using portico = await openPortico()
  const { policyId } = await register(portico)
  const client = (apiKey?: string) =>
    new OpenRouter({
      serverURL: `${portico.url}/api/v1`,
      retryConfig: { strategy: 'none' },
      ...(apiKey === undefined ? {} : { apiKey }),
    })
  const { keys } = await client().oAuth.listOauthJwks()
  assert.equal(keys.length >= 1, true)
  const token = await client('sk-wrong').oAuth.createOauthToken({
    tokenExchangeRequest: {
      grantType: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subjectToken: subjectToken(),
      subjectTokenType: 'urn:ietf:params:oauth:token-type:jwt',
      federationPolicyId: policyId,
    },
  })
  assert.equal(token.tokenType, 'Bearer')
  const response = await client(token.accessToken).responses.send({
    responsesRequest: { model: 'portico/echo', input: '/length 3' },
  })
  assert.ok('outputText' in response)
  assert.equal(response.outputText, 'the quick brown')
})
