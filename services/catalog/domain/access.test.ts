import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessTo, sameAccesses, savePatternsOf } from './access.ts'

test('compares accesses whatever their order', () => {
  const [a, b] = [accessTo('read', ['x', 'y']), accessTo('edit', ['z'])]
  assert.ok(sameAccesses([a, b], [b, accessTo('read', ['y', 'x'])]))
  assert.ok(!sameAccesses([a, b], [a]))
  assert.ok(!sameAccesses([a], [a, a]))
  assert.ok(!sameAccesses([a], [accessTo('edit', ['x', 'y'])]))
  assert.ok(!sameAccesses([accessTo('a', ['b,c'])], [accessTo('a', ['b', 'c'])]))
})

test('saves the resources of a call, and nothing when one contains a wildcard', () => {
  assert.deepEqual(savePatternsOf([accessTo('grep', ['x']), accessTo('read', ['x'])]), ['x'])
  assert.deepEqual(savePatternsOf([accessTo('bash', ['ls', 'rm *'])]), [])
})

test('compares the guarded files of accesses, and saves nothing else of them', () => {
  const plain = accessTo('edit', ['opencode.json', 'link'])
  const guarded = { ...plain, guardedPath: '/p/opencode.json' }
  assert.ok(sameAccesses([guarded], [{ ...guarded, resources: ['link', 'opencode.json'] }]))
  assert.ok(sameAccesses([plain], [{ ...plain, guardedPath: undefined }]))
  assert.ok(!sameAccesses([guarded], [plain]))
  assert.deepEqual(savePatternsOf([guarded]), ['/p/opencode.json'])
  assert.deepEqual(savePatternsOf([{ ...plain, guardedPath: '/p*/opencode.json' }]), [])
})
