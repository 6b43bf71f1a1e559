import assert from 'node:assert/strict'
import test from 'node:test'
import { ALL_OPERATIONS } from '#gateway/app/operations.ts'
import { ANYBODY, type Credential, OF_KEYS, OF_MANAGERS, OF_SESSIONS, OF_USERS } from '#gateway/credentials.ts'
import type { Operation } from '#gateway/operation.ts'
import { openFacade, TEST_KEYS, type TestFacade } from '#test/support/facade.ts'

/** Which keys may see what. */
const BEARERS: Readonly<Record<Exclude<Credential, 'local-operator'>, string>> = {
  workspace: TEST_KEYS.workspace,
  personal: TEST_KEYS.personal,
  management: TEST_KEYS.management,
  'access-token': TEST_KEYS.accessToken,
}

async function statusOf(facade: TestFacade, { method, path }: Operation, bearer?: string): Promise<number> {
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => `${name.slice(0, 3).toLowerCase()}_1`)
  const answer = await facade.fetch(target, {
    method: method.toUpperCase(),
    headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  })
  await answer.body?.cancel()
  return answer.status
}

test('each operation takes the credentials that it declares, and no others, in every mode', async () => {
  await using bearer = await openFacade({}, { PORTICO_AUTH: 'bearer' })
  await using none = await openFacade()
  for (const operation of ALL_OPERATIONS) {
    const { id, credentials, family } = operation
    for (const facade of family === 'instance' ? [bearer] : [bearer, none]) {
      const anonymous = await statusOf(facade, operation)
      assert.equal(anonymous === 401, credentials.length > 0, `${id} without a credential: ${anonymous}`)
      for (const [credential, key] of Object.entries(BEARERS)) {
        const status = await statusOf(facade, operation, key)
        const takes = credentials.length === 0 || credentials.includes(credential as Credential)
        assert.equal(status === 403, !takes, `${id} with ${credential}: ${status}`)
        assert.notEqual(status, 401, `${id} with ${credential}`)
      }
    }
  }
})

test('sessions need keys of users; routes of /api/v1 for workspace keys accept access tokens too', () => {
  for (const { id, path, credentials } of ALL_OPERATIONS) {
    if (path.startsWith('/api/v1/')) assert.ok([ANYBODY, OF_USERS, OF_MANAGERS, OF_KEYS].includes(credentials), id)
    else if (path.startsWith('/api/')) assert.equal(credentials, OF_SESSIONS, id)
    else assert.equal(credentials, ANYBODY, id)
  }
})

test('refuses an access token on other routes, with a reason in the form of the API', async () => {
  await using facade = await openFacade({}, { PORTICO_AUTH: 'bearer' })
  const headers = { authorization: `Bearer ${TEST_KEYS.accessToken}` }
  const session = await facade.fetch('/api/session', { headers })
  assert.equal(session.status, 403)
  const message = 'Access tokens have no access to sessions'
  assert.deepEqual(await session.json(), { _tag: 'ForbiddenError', message })
  assert.equal((await facade.fetch('/api/nothing', { headers })).status, 403)
  assert.equal((await facade.fetch('/api/v1/nothing', { headers })).status, 404)
})

test('65: a refused access token is 401; wrong tokens count like wrong keys, expired ones do not', async () => {
  await using facade = await openFacade()
  const ask = (token: string) =>
    facade.fetch('/api/v1/responses', { method: 'POST', headers: { authorization: `Bearer ${token}` } })
  const [over, wrong] = [await ask(TEST_KEYS.expiredToken), await ask(`${TEST_KEYS.accessToken}x`)]
  for (const { status, headers } of [over, wrong]) {
    assert.equal(status, 401)
    assert.equal(headers.get('www-authenticate'), 'Bearer realm="portico", error="invalid_token"')
  }
  assert.deepEqual(await over.json(), await wrong.json())
  assert.equal((await ask(`eyJ${'x'.repeat(8_200)}.e30.c2ln`)).status, 401)
  for (let i = 2; i < 20; i++) assert.equal((await ask(`${TEST_KEYS.accessToken}x`)).status, 401)
  assert.equal((await ask(`${TEST_KEYS.accessToken}x`)).status, 429)
  for (let i = 0; i < 30; i++) assert.equal((await ask(TEST_KEYS.expiredToken)).status, 401)
  assert.equal((await ask(TEST_KEYS.accessToken)).status, 400, 'a body is missing, and the token is good')
})
