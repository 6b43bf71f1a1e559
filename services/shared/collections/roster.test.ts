import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Roster } from './roster.ts'

test('members come and go by their seats, which are used again', () => {
  const roster = new Roster<{ readonly name: string }>()
  const [a, b] = [roster.add({ name: 'a' }), roster.add({ name: 'b' })]
  assert.notEqual(a, b)
  roster.delete(a)
  roster.delete(a)
  assert.deepEqual([roster.size, roster.get(a), roster.get(b)?.name], [1, undefined, 'b'])
  assert.equal(roster.add({ name: 'c' }), a)
  const d = roster.add({ name: 'd' })
  assert.ok(d !== a && d !== b)
  assert.deepEqual([roster.size, Array.from(roster, ({ name }) => name)], [3, ['c', 'b', 'd']])
})
