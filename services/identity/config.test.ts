import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config.ts'
import { readConfig } from './config.ts'

const problemsOf = (env: Record<string, string>) => {
  try {
    return readConfig(env) && []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems
  }
}

test('nothing set means SQLite in ./data and keys that the first start makes up', () => {
  const store = { kind: 'sqlite', directory: resolve('data') }
  const nothing = { managementKey: undefined, apiKey: undefined, publicOrigin: undefined, encryptionKeys: [] }
  assert.deepEqual(readConfig({}), { store, ...nothing })
})

test('a bootstrap key has 16 to 512 visible ASCII characters, and the message never repeats it', () => {
  for (const good of ['a'.repeat(16), '!~'.repeat(256)]) {
    assert.equal(readConfig({ PORTICO_BOOTSTRAP_API_KEY: good }).apiKey, good)
  }
  const problem = 'must be 16 to 512 visible ASCII characters'
  for (const bad of [
    'a'.repeat(15),
    'a'.repeat(513),
    'with a space inside',
    'with-a-line-break\n',
    'schlüsselschlüssel',
  ]) {
    assert.deepEqual(problemsOf({ PORTICO_BOOTSTRAP_API_KEY: bad, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: `${bad} ` }), [
      { variable: 'PORTICO_BOOTSTRAP_MANAGEMENT_KEY', problem },
      { variable: 'PORTICO_BOOTSTRAP_API_KEY', problem },
    ])
  }
})

test('one key cannot be both bootstrap keys', () => {
  const key = 'sk-portico-one-and-the-same'
  assert.deepEqual(problemsOf({ PORTICO_BOOTSTRAP_API_KEY: key, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: key }), [
    { variable: 'PORTICO_BOOTSTRAP_API_KEY', problem: 'must differ from PORTICO_BOOTSTRAP_MANAGEMENT_KEY' },
  ])
})

test('tokens name the origin of the public URL, without its path', () => {
  const originOf = (PORTICO_PUBLIC_URL: string) => readConfig({ PORTICO_PUBLIC_URL }).publicOrigin
  assert.equal(originOf('https://Portico.example:443/some/path/'), 'https://portico.example')
  assert.equal(originOf('http://127.0.0.1:4096'), 'http://127.0.0.1:4096')
  assert.deepEqual(problemsOf({ PORTICO_PUBLIC_URL: 'portico.example' }), [
    { variable: 'PORTICO_PUBLIC_URL', problem: 'must be an http:// or https:// URL' },
  ])
})

test('keys to encrypt with are 32 bytes in base64 each, and the message never repeats one', () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) => key.toString('base64')) as [string, string]
  assert.deepEqual(readConfig({ PORTICO_KEY_ENCRYPTION_KEY: one }).encryptionKeys, [one])
  assert.deepEqual(readConfig({ PORTICO_KEY_ENCRYPTION_KEY: `${one}, ${two}` }).encryptionKeys, [one, two])
  const problem = 'must be 32 bytes in base64 (openssl rand -base64 32), or up to 4 such keys, separated by commas'
  const short = Buffer.alloc(31, 1).toString('base64')
  for (const bad of ['secret', short, one.slice(0, -1), `${one},`, `${one},${short}`, Array(5).fill(one).join()]) {
    const problems = problemsOf({ PORTICO_KEY_ENCRYPTION_KEY: bad })
    assert.deepEqual(problems, [{ variable: 'PORTICO_KEY_ENCRYPTION_KEY', problem }])
  }
})
