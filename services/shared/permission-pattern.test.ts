import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matches } from './permission-pattern.ts'

test('a pattern matches the whole text, with * over slashes and ? for one character', () => {
  assert.ok(matches('src/*', 'src/a/b.ts'))
  assert.ok(matches('*.env', 'a/.env'))
  assert.ok(matches('a?c', 'abc'))
  assert.ok(matches('*', ''))
  assert.ok(matches('a**c', 'ac'))
  assert.ok(!matches('src', 'src/a'))
  assert.ok(!matches('a?c', 'ac'))
  assert.ok(!matches('*.env', '.env.local'))
  assert.ok(!matches('SRC/*', 'src/a'))
})

test('a backslash equals a slash in patterns and resources', () => {
  assert.ok(matches('src/*', 'src\\a'))
  assert.ok(matches('src\\*', 'src/a'))
})

test('a pattern that ends in " *" also matches without the argument', () => {
  assert.ok(matches('git push *', 'git push'))
  assert.ok(matches('git push *', 'git push origin'))
  assert.ok(!matches('git push *', 'git pushy'))
  assert.ok(!matches('git*push', 'git pus'))
})

// A naive search takes a second for each of them.
test('pieces of every length are found where they are, and once only', () => {
  for (const length of [1, 31, 32, 33, 64, 100, 300]) {
    const piece = 'ab?'.repeat(length).slice(0, length)
    const text = 'abc'.repeat(length).slice(0, length)
    assert.ok(matches(`*${piece}*`, `xx${text}xy`), piece)
    assert.ok(matches(`*${piece}*?y`, `xx${text}xy`), piece)
    assert.ok(!matches(`*${piece}*?z`, `xx${text}xy`), piece)
    assert.ok(!matches(`*${piece}*${piece}*`, `xx${text}xy`), piece)
  }
})
