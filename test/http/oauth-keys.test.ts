import assert from 'node:assert/strict'
import test from 'node:test'
import { Code } from '@connectrpc/connect'
import * as oauth from 'oauth4webapi'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { openPortico } from '#test/support/portico.ts'
import { TOKEN_FORM } from '#test/support/token-form.ts'

const keys = [
  { kid: 'sig_2', x: 'eHh4', y: 'eXl5' },
  { kid: 'sig_1', x: 'eA', y: 'eQ' },
]

test('63: the key set has for each key exactly the seven members, and may be kept as long as identity says', async () => {
  await using facade = await openFacade({
    federation: { listSigningKeys: () => ({ keys, maxAgeSeconds: 321 }) },
  })
  const answer = await facade.fetch('/api/v1/oauth/jwks')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=321')
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  const common = { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' }
  assert.deepEqual(await answer.json(), { keys: keys.map((key) => ({ ...common, ...key })) })
})

test('55: errors of the key set have the form of the gateway, and are not kept', async () => {
  let thrown = new Rejection('SIGNING_UNAVAILABLE')
  await using facade = await openFacade({
    reasons: {
      SIGNING_UNAVAILABLE: { code: Code.Internal, message: 'M' },
      STORE_UNAVAILABLE: { code: Code.Unavailable, message: 'M' },
    },
    federation: {
      listSigningKeys() {
        throw thrown
      },
    },
  })
  const get = (init?: RequestInit) => facade.fetch('/api/v1/oauth/jwks', init)
  const none = await get()
  assert.equal(none.status, 500)
  assert.equal(none.headers.get('cache-control'), 'no-store')
  const setting = 'Signing keys are not configured: PORTICO_KEY_ENCRYPTION_KEY must be set'
  assert.deepEqual(await none.json(), { error: { code: 500, message: setting } })
  thrown = new Rejection('STORE_UNAVAILABLE')
  const away = await get()
  assert.equal(away.status, 503)
  assert.ok(Number(away.headers.get('retry-after')) >= 1)
  const message = 'Service temporarily unavailable: the store of the test service cannot be used'
  assert.deepEqual(await away.json(), { error: { code: 503, message } })
  const posted = await get({ method: 'POST', headers: { authorization: `Bearer ${TEST_KEYS.management}` } })
  assert.equal(posted.status, 405)
  assert.equal(posted.headers.get('allow'), 'GET, HEAD')
  assert.deepEqual(await posted.json(), {
    error: { code: 405, message: 'Method not allowed. Allowed here: GET, HEAD' },
  })
})

test('the metadata contain the origin of PORTICO_PUBLIC_URL, else the address on which the server listens', async () => {
  const metadata = (issuer: string) => ({
    issuer,
    token_endpoint: `${issuer}/api/v1/oauth/token`,
    jwks_uri: `${issuer}/api/v1/oauth/jwks`,
    response_types_supported: [],
    grant_types_supported: ['urn:ietf:params:oauth:grant-type:token-exchange'],
    token_endpoint_auth_methods_supported: ['none'],
    scopes_supported: ['inference'],
  })
  const path = '/.well-known/oauth-authorization-server'
  await using plain = await openFacade()
  const answer = await plain.fetch(path)
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=300')
  assert.deepEqual(await answer.json(), metadata(plain.url))
  await using named = await openFacade({}, { PORTICO_PUBLIC_URL: 'https://portico.example:8443/somewhere/' })
  assert.deepEqual(await (await named.fetch(path)).json(), metadata('https://portico.example:8443'))
  const posted = await plain.fetch(path, { method: 'POST' })
  assert.equal(posted.status, 405)
  assert.deepEqual(await posted.json(), {
    error: 'invalid_request',
    error_description: 'Method not allowed. Allowed here: GET, HEAD',
  })
})

test('oauth4webapi discovers the token endpoint, and reads why a token is refused', async () => {
  await using portico = await openPortico()
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(portico.url)
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  assert.equal(server.jwks_uri, `${portico.url}/api/v1/oauth/jwks`)
  const { grant_type: grant, ...form } = TOKEN_FORM
  const client = { client_id: 'workload' }
  const answer = await oauth.genericTokenEndpointRequest(server, client, oauth.None(), grant, form, insecure)
  await assert.rejects(oauth.processGenericTokenEndpointResponse(server, client, answer), (error: unknown) => {
    assert.ok(error instanceof oauth.ResponseBodyError)
    const { status, error: code, error_description: description } = error
    assert.deepEqual([status, code, description], [400, 'invalid_grant', 'The subject token was not accepted.'])
    return true
  })
})

test('a server publishes the key that it is going to sign with from its first start on', async () => {
  await using portico = await openPortico()
  const answer = await portico.fetch('/api/v1/oauth/jwks')
  assert.equal(answer.status, 200)
  const set = (await answer.json()) as { keys: { kid: string; x: string; y: string }[] }
  for (const { x, y } of set.keys) assert.ok(Buffer.from(x, 'base64url').length === 32 && y.length === 43)
})
