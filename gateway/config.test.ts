import assert from 'node:assert/strict'
import test from 'node:test'
import { readConfig } from './config.ts'

test('serves only this machine, on port 4096, without settings', () => {
  const { host, port, auth, corsOrigins, bodyLimit, promptLimit, heartbeatMs, exchangesPerMinute } = readConfig({})
  assert.deepEqual(
    { host, port, auth, corsOrigins },
    { host: '127.0.0.1', port: 4096, auth: { mode: 'none' }, corsOrigins: [] },
  )
  assert.deepEqual([bodyLimit, promptLimit, heartbeatMs], [1_048_576, 33_554_432, 15_000])
  assert.equal(exchangesPerMinute, 600)
})

test('serving others without credentials is refused', () => {
  for (const PORTICO_HOST of ['0.0.0.0', '::', '192.168.1.2', 'portico.example']) {
    assert.throws(() => readConfig({ PORTICO_HOST }), /PORTICO_AUTH: none is only for a loopback address/)
    assert.equal(readConfig({ PORTICO_HOST, PORTICO_AUTH: 'bearer' }).host, PORTICO_HOST)
  }
  for (const PORTICO_HOST of ['localhost', '127.0.0.2', '::1'])
    assert.equal(readConfig({ PORTICO_HOST }).host, PORTICO_HOST)
})

test('basic needs a password', () => {
  assert.throws(() => readConfig({ PORTICO_AUTH: 'basic' }), /PORTICO_BASIC_PASSWORD: must be set/)
  const { auth } = readConfig({ PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'p' })
  assert.deepEqual(auth, { mode: 'basic', username: 'portico', password: 'p' })
})

test('every problem is reported at once, with the values', () => {
  const env = {
    PORTICO_PORT: '12abc',
    PORTICO_AUTH: 'oauth',
    PORTICO_CORS_ORIGINS: 'https://a.example,https://b.example/path',
    PORTICO_TRUSTED_PROXIES: '10.0.0.0/8, 10.0.0.0/33',
    PORTICO_BODY_LIMIT_BYTES: '12',
  }
  assert.throws(
    () => readConfig(env),
    (error: Error) => {
      assert.deepEqual(error.message.split('\n').slice(1), [
        '  PORTICO_PORT: must be a whole number, not 12abc',
        '  PORTICO_AUTH: must be none, basic or bearer, not oauth',
        '  PORTICO_CORS_ORIGINS: must be origins such as https://example.com, not https://b.example/path',
        '  PORTICO_TRUSTED_PROXIES: must be addresses and networks such as 10.0.0.0/8, not 10.0.0.0/33',
        '  PORTICO_BODY_LIMIT_BYTES: must be at least 1024, not 12',
      ])
      return true
    },
  )
})

test('a wrong port does not hide other problems', () => {
  assert.throws(
    () => readConfig({ PORTICO_PORT: '12abc', PORTICO_AUTH: 'basic' }),
    /PORTICO_PORT: .*\n.*PORTICO_BASIC_PASSWORD: must be set for PORTICO_AUTH=basic$/,
  )
})
