import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sameAccesses, savePatternsOf } from './access.ts'

test('accesses are equal whatever their order', () => {
  const [a, b] = [
    { action: 'read', resources: ['x', 'y'] },
    { action: 'edit', resources: ['z'] },
  ]
  assert.ok(sameAccesses([a, b], [b, { action: 'read', resources: ['y', 'x'] }]))
  assert.ok(!sameAccesses([a, b], [a]))
  assert.ok(!sameAccesses([a], [a, a]))
  assert.ok(!sameAccesses([a], [{ action: 'edit', resources: ['x', 'y'] }]))
  assert.ok(!sameAccesses([{ action: 'a', resources: ['b,c'] }], [{ action: 'a', resources: ['b', 'c'] }]))
})

test('an always answer saves the resources, and nothing when one contains a wildcard', () => {
  assert.deepEqual(
    savePatternsOf([
      { action: 'grep', resources: ['x'] },
      { action: 'read', resources: ['x'] },
    ]),
    ['x'],
  )
  assert.deepEqual(savePatternsOf([{ action: 'bash', resources: ['ls', 'rm *'] }]), [])
})

test('a guarded file is part of what an access is, and all that an always answer saves', () => {
  const plain = { action: 'edit', resources: ['opencode.json', 'link'] }
  const guarded = { ...plain, guardedPath: '/p/opencode.json' }
  assert.ok(sameAccesses([guarded], [{ ...guarded, resources: ['link', 'opencode.json'] }]))
  assert.ok(sameAccesses([plain], [{ ...plain, guardedPath: undefined }]))
  assert.ok(!sameAccesses([guarded], [plain]))
  assert.deepEqual(savePatternsOf([guarded]), ['/p/opencode.json'])
  assert.deepEqual(savePatternsOf([{ ...plain, guardedPath: '/p*/opencode.json' }]), [])
})
