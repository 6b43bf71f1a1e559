import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { readEnvironment, readTogether } from '#shared/config/config.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { maskSecrets } from '#shared/config/config-print.ts'
import { storeOf, storeVariables } from '#shared/config/store-config.ts'
import { booleanVariable, integerVariable, jsonVariable, portVariable, urlVariable } from '#shared/config/variables.ts'

const schema = z.object({
  PORT: portVariable().default(4096),
  LIMIT: integerVariable({ min: 1, max: 10 }).default(5),
  SWITCH: booleanVariable().default(false),
  PEER: urlVariable(),
  SECRET: z.string().min(8, 'must have at least 8 characters'),
  ROOTS: jsonVariable(z.record(z.string(), z.array(z.string()))).default({}),
})

test('reports every problem in one error, naming the variables, and values that are not secret', () => {
  const env = { PORT: '12abc', LIMIT: '11', SWITCH: 'yes', SECRET: 'hunter2', ROOTS: '{"a":[1]}' }
  assert.throws(
    () => readEnvironment(schema, env),
    (error) => {
      assert.ok(error instanceof ConfigError)
      assert.deepEqual(error.problems, [
        { variable: 'PORT', problem: 'must be a whole number, not 12abc' },
        { variable: 'LIMIT', problem: 'must be at most 10, not 11' },
        { variable: 'SWITCH', problem: 'must be true or false, not yes' },
        { variable: 'PEER', problem: 'must be set' },
        { variable: 'SECRET', problem: 'must have at least 8 characters' },
        { variable: 'ROOTS', problem: 'a.0: must be a string' },
      ])
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    },
  )
})

test('takes an empty variable for one that is not set, ignores foreign ones, and freezes the configuration', () => {
  const env = {
    PORT: '',
    SWITCH: '1',
    PEER: 'http://127.0.0.1:4101/',
    SECRET: 'long enough',
    ROOTS: '{"a":["/b"]}',
    HOME: '/x',
  }
  const config = readEnvironment(schema, env)
  assert.deepEqual(config, {
    PORT: 4096,
    LIMIT: 5,
    SWITCH: true,
    PEER: 'http://127.0.0.1:4101',
    SECRET: 'long enough',
    ROOTS: { a: ['/b'] },
  })
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.ROOTS.a))
})

test('reports the problems of all readers of one environment together, each once', () => {
  const reader = (name: string) => (env: Record<string, string | undefined>) =>
    readEnvironment(z.object({ SHARED: portVariable(), [name]: portVariable() }), env)
  assert.throws(
    () => readTogether({ ONE: 'x' }, { one: reader('ONE'), two: reader('TWO') }),
    (error) =>
      error instanceof ConfigError && error.problems.map(({ variable }) => variable).join() === 'SHARED,ONE,TWO',
  )
})

test('an unknown setting is a warning next to the errors; a name is suggested only if it is very similar', () => {
  const read = (env: Record<string, string | undefined>) =>
    readEnvironment(z.object({ PORTICO_HOST: z.string().default('a'), PORTICO_PORT: portVariable() }), env)
  const message = [
    'The settings cannot be used:',
    '  PORTICO_PORT: must be set',
    'Warnings:',
    '  PORTICO_FOO: is not a known setting',
    '  PORTICO_PROT: is not a known setting; did you mean PORTICO_PORT?',
    '  PORTICO_DATADIR: is not a known setting; did you mean PORTICO_DATA_DIR?',
  ].join('\n')
  const env = { PORTICO_FOO: '1', PORTICO_PROT: '1', PORTICO_DATADIR: '1', PORTICO_API_KEY: '1' }
  assert.throws(
    () => readTogether(env, { read }),
    (error) => {
      assert.ok(error instanceof ConfigError)
      assert.equal(error.message, message)
      assert.deepEqual(error.problems, [{ variable: 'PORTICO_PORT', problem: 'must be set' }])
      return true
    },
  )
})

test('masks secrets by name and credentials in URLs, and nothing else', () => {
  const config = {
    internalSecret: 'abc',
    apiKeys: ['k1', 'k2'],
    keys: { a: 'k3' },
    maxTokens: 12,
    store: { kind: 'mongodb', uri: 'mongodb://portico:p%40ss@one:27017,two:27017/?replicaSet=rs0' },
    url: 'http://127.0.0.1:4101/a@b',
  }
  assert.deepEqual(maskSecrets(config), {
    internalSecret: '***',
    apiKeys: ['***', '***'],
    keys: { a: '***' },
    maxTokens: 12,
    store: { kind: 'mongodb', uri: 'mongodb://***@one:27017,two:27017/?replicaSet=rs0' },
    url: 'http://127.0.0.1:4101/a@b',
  })
})

test('chooses MongoDB when its URI is set and SQLite otherwise', () => {
  const read = (env: Record<string, string>) => storeOf(readEnvironment(z.object(storeVariables), env))
  assert.deepEqual(read({ PORTICO_DATA_DIR: '/data' }), { kind: 'sqlite', directory: '/data' })
  assert.deepEqual(read({ PORTICO_MONGODB_URI: 'mongodb://one' }), {
    kind: 'mongodb',
    uri: 'mongodb://one',
    database: 'portico',
  })
  assert.throws(() => read({ PORTICO_MONGODB_URI: 'postgres://one' }), /PORTICO_MONGODB_URI: must start with/)
})
