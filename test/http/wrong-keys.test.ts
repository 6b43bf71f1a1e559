import assert from 'node:assert/strict'
import test from 'node:test'
import { openFacade, TEST_KEYS, type TestFacade } from '#test/support/facade.ts'

const basicHeader = (password: string) => `Basic ${Buffer.from(`portico:${password}`).toString('base64')}`
const MESSAGE = 'Too many wrong keys or passwords came from this address'
const instance = { _tag: 'TooManyRequestsError', message: MESSAGE }
const gateway = { error: { code: 429, message: `Rate limit exceeded: ${MESSAGE.replace('Too', 'too')}` } }

const APIS: [string, Record<string, string>, string, string, string, object][] = [
  [
    'basic',
    { PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'right' },
    '/api/info',
    basicHeader('right'),
    basicHeader('wrong'),
    instance,
  ],
  [
    'bearer',
    { PORTICO_AUTH: 'bearer' },
    '/api/info',
    `Bearer ${TEST_KEYS.workspace}`,
    'Bearer sk-portico-wrong',
    instance,
  ],
  ['/api/v1', {}, '/api/v1/responses', `Bearer ${TEST_KEYS.workspace}`, 'Bearer sk-portico-wrong', gateway],
]

for (const [name, env, path, right, wrong, body] of APIS) {
  test(`${name}: after 20 wrong keys further wrong ones are 429 with Retry-After, and a right one never is`, async () => {
    await using facade = await openFacade({}, env)
    const status = async (authorization: string): Promise<number> => (await ask(facade, path, authorization)).status
    const passed = await status(right)
    assert.notEqual(passed, 401)
    for (let i = 0; i < 20; i++) assert.equal(await status(wrong), 401, `${i}`)
    for (let i = 0; i < 3; i++) {
      const answer = await ask(facade, path, wrong)
      assert.equal(answer.status, 429)
      const seconds = Number(answer.headers.get('retry-after'))
      assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `${seconds}`)
      assert.equal(answer.headers.get('www-authenticate'), null)
      assert.deepEqual(await answer.json(), body)
      assert.equal(await status(right), passed)
    }
    assert.equal((await facade.fetch(path)).status, 401, 'no key is no wrong key')
    const lines = facade.log.filter(({ level }) => Number(level) >= 40)
    assert.equal(lines.length, 1)
    assert.doesNotMatch(JSON.stringify(lines), /wrong"|sk-portico|Basic /)
  })
}

test('wrong keys of the clients of a trusted proxy are counted for each client', async () => {
  await using facade = await openFacade({}, { PORTICO_TRUSTED_PROXIES: '127.0.0.0/8, ::1' })
  const wrong = async (forwarded: string): Promise<number> => {
    const headers = { authorization: 'Bearer sk-portico-wrong', 'x-forwarded-for': forwarded }
    return (await facade.fetch('/api/v1/responses', { headers })).status
  }
  for (let i = 0; i < 20; i++) assert.equal(await wrong(`198.51.100.${i}, 192.0.2.7`), 401)
  assert.equal(await wrong('192.0.2.7'), 429)
  assert.equal(await wrong('192.0.2.8'), 401)
})

function ask(facade: TestFacade, path: string, authorization: string): Promise<Response> {
  return facade.fetch(path, { headers: { authorization } })
}
