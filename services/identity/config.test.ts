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
  assert.deepEqual(readConfig({}), { store, managementKey: undefined, apiKey: undefined })
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
