import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolNameOf } from './mcp-tools.ts'

test('the names of tools fit providers, are the same in every process, and are unique', () => {
  assert.equal(toolNameOf('files', 'read_file'), 'files_read_file')
  assert.equal(toolNameOf('a_b', 'c'), 'a-b__c_0c1d18f5e74d2786')
  const pairs = [
    ...[
      ['a_b', 'c'],
      ['a', 'b_c'],
      ['a', '_b_c'],
      ['a-b', 'c'],
      ['a b', 'c'],
      ['a.b', 'c'],
      ['é', 'c'],
      ['è', 'c'],
      ['a', 'b c'],
    ],
    ...[
      ['a', 'b.c'],
      ['a', `${'x'.repeat(90)}1`],
      ['a', `${'x'.repeat(90)}2`],
      ['a', ''],
      ['b', '/'],
      ['b', '*'],
    ],
    ['a', toolNameOf('a_b', 'c').slice(2)],
  ] as [string, string][]
  const names = pairs.map(([server, tool]) => toolNameOf(server, tool))
  assert.equal(new Set(names).size, pairs.length)
  for (const name of names) assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
  // Names of built-in tools contain no underscore, so none of these can be one.
  for (const name of names) assert.ok(name.includes('_'))
})
