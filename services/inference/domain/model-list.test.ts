import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAllowed, modelListOf, resolveModel } from './model-list.ts'

const entry = (id: string) => ({ id, displayName: id })
const list = modelListOf([
  { id: 'one', protocol: 'openai', models: [entry('a'), entry('a:thinking'), entry('x/y')] },
  { id: 'two', protocol: 'openai', models: [entry('a')] },
  { id: 'router', protocol: 'openai', knowsVariants: true, models: [entry('a/b')] },
])

test('a name means a listed model, or one that its provider passes on, and the suffix of a variant is left off', () => {
  for (const [name, expected, variant] of [
    ['one/a', ['one/a']],
    ['a', ['one/a', 'two/a']],
    ['x/y', ['one/x/y']],
    ['one/unlisted', ['one/unlisted']],
    ['one/a:nitro', ['one/a'], 'nitro'],
    ['one/unlisted:free', ['one/unlisted'], 'free'],
    ['a:floor', ['one/a', 'two/a'], 'floor'],
    ['x/y:online', ['one/x/y'], 'online'],
    ['one/a:thinking', ['one/a:thinking']],
    ['two/a:thinking', ['two/a'], 'thinking'],
    ['one/a:latest', ['one/a:latest']],
    ['router/c/d:free', ['router/c/d:free']],
    ['router/a/b:free', ['router/a/b:free']],
    ['portico/echo:exacto', ['portico/echo'], 'exacto'],
    ['b', undefined],
    ['b:free', undefined],
    ['one/', undefined],
    ['portico/other', undefined],
  ] as const) {
    const found = resolveModel(list, name)
    const endpoints = found?.endpoints.map(({ providerId, modelId }) => `${providerId}/${modelId}`)
    assert.deepEqual([endpoints, found?.variant], [expected, variant], name)
  }
})

test('patterns name models by provider and name, or by name alone', () => {
  const model = { providerId: 'openai', modelId: 'gpt-5.5-mini' }
  for (const pattern of [
    'openai/gpt-5.5-mini',
    'openai/*',
    '*',
    'gpt-5.5*',
    '*/gpt-*mini',
    'gpt-5.5-mini',
    '*-5.5-*',
  ]) {
    assert.equal(isAllowed([pattern], model), true, pattern)
  }
  for (const pattern of [
    'openai',
    'openai/gpt-5.5',
    'anthropic/*',
    'gpt-5',
    '',
    'gpt.5.5-mini',
    'OPENAI/*',
    '*5',
    'openai/',
  ]) {
    assert.equal(isAllowed([pattern], model), false, pattern)
  }
  assert.equal(isAllowed([], model), true)
  assert.equal(isAllowed(['anthropic/*', 'openai/gpt*'], model), true)
  // A search that goes back would take years.
  assert.equal(isAllowed(['*a'.repeat(250)], { providerId: 'x', modelId: `${'a'.repeat(100_000)}b` }), false)
})
