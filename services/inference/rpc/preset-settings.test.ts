import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SettingsReader } from './preset-settings.ts'

/** A reader that records what it reads. */
function noting() {
  const read: unknown[] = []
  const reader = new SettingsReader((stored) => {
    const settings = JSON.parse(stored)
    read.push(settings.id)
    return settings
  })
  const use = (id: string, more = '') => reader.read({ versionId: id, settings: JSON.stringify({ id, more }) })
  return { read, use }
}

test('a version is read once, and those that were used last are remembered', () => {
  const { read, use } = noting()
  assert.equal(use('first'), use('first'))
  for (let i = 0; i < 998; i++) use(`v${i}`)
  use('first')
  use('one more')
  use('another')
  assert.equal(read.length, 1_001)
  use('first')
  use('v0')
  assert.deepEqual(read.slice(1_001), ['v0'])
})

test('the cache has at most 8 million characters, and a larger version is read each time', () => {
  const { read, use } = noting()
  const half = 'x'.repeat(4 << 20)
  for (const id of ['a', 'b', 'b', 'a']) use(id, half)
  assert.deepEqual(read, ['a', 'b', 'a'])
  for (const id of ['c', 'c']) use(id, half + half)
  assert.deepEqual(read.slice(3), ['c', 'c'])
})
