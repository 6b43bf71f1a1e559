import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enumTable } from '#shared/rpc/enum-table.ts'

test('reads one table both ways, and has no name for a value that is not in it', () => {
  const table = enumTable({ primary: 1, subagent: 2 })
  assert.deepEqual([table.toProto('primary'), table.toProto('subagent')], [1, 2])
  assert.deepEqual(
    [0, 1, 2, 99].map((value) => table.fromProto(value)),
    [undefined, 'primary', 'subagent', undefined],
  )
})

test('a table with two names for one value is refused', () => {
  assert.throws(() => enumTable({ one: 1, uno: 1 }), /one and uno/)
})
