import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Effect, PermissionRule } from './permission.ts'
import { evaluateAccess, matches } from './permission-rules.ts'

const rule = (action: string, resource: string, effect: Effect): PermissionRule => ({ action, resource, effect })
const read = (...resources: string[]) => ({ action: 'read', resources })

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

test('a pattern of many stars is not slow', () => {
  assert.ok(!matches(`${'*a'.repeat(50)}b`, 'a'.repeat(5_000)))
})

test('the last rule that matches wins, and no match asks', () => {
  const rules = [rule('*', '*', 'allow'), rule('read', '*.env', 'ask'), rule('read', 'my.env', 'allow')]
  assert.equal(evaluateAccess(rules, [], read('a.ts')), 'allow')
  assert.equal(evaluateAccess(rules, [], read('a.env')), 'ask')
  assert.equal(evaluateAccess(rules, [], read('my.env')), 'allow')
  assert.equal(evaluateAccess([], [], read('a.ts')), 'ask')
  assert.equal(evaluateAccess([rule('*', '*', 'allow')], [], read()), 'allow')
})

test('one denied resource denies all, one that asks asks for all', () => {
  const rules = [rule('*', '*', 'allow'), rule('read', '*.env', 'ask'), rule('read', 'secret/*', 'deny')]
  assert.equal(evaluateAccess(rules, [], read('a', 'b.env')), 'ask')
  assert.equal(evaluateAccess(rules, [], read('a', 'b.env', 'secret/c')), 'deny')
})

test('a saved approval answers an ask and never lifts a denial', () => {
  const rules = [rule('*', '*', 'ask'), rule('read', 'secret/*', 'deny')]
  const approvals = [rule('read', '*', 'allow')]
  assert.equal(evaluateAccess(rules, approvals, read('a')), 'allow')
  assert.equal(evaluateAccess(rules, approvals, read('secret/a')), 'deny')
  assert.equal(evaluateAccess(rules, approvals, { action: 'bash', resources: ['ls'] }), 'ask')
})
