import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { type Tool, ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { FlatTools } from './flat-tools.ts'

function tool(name: string, namespace?: string): Tool {
  return create(ToolSchema, { name, namespace: namespace === undefined ? undefined : { name: namespace } })
}

test('every tool has a name that no other has, and a call by it is a call of that tool', () => {
  const long = 'n'.repeat(64)
  for (const [tools, expected] of [
    [
      [tool('get', 'a'), tool('get', 'b'), tool('a_get')],
      ['a_get_2', 'b_get', 'a_get'],
    ],
    [
      [tool('get', 'a'), tool('get', 'b'), tool('a_get', 'c'), tool('a_get_2')],
      ['a_get_3', 'b_get', 'a_get', 'a_get_2'],
    ],
    [
      [tool('b_c', 'a'), tool('c', 'a_b'), tool('c'), tool('b_c')],
      ['a_b_c', 'a_b_c_2', 'c', 'b_c'],
    ],
    [
      [tool('one', long), tool('two', long), tool('one'), tool('two')],
      [long, `${long.slice(2)}_2`, 'one', 'two'],
    ],
  ] as const) {
    const flat = new FlatTools(tools)
    const names = tools.map(({ name, namespace }) => flat.nameOf(name, namespace?.name))
    assert.deepEqual(names, expected)
    const called = names.map((name) => flat.toolOf(name))
    assert.deepEqual(
      called.map(({ name, namespace }) => [name, namespace]),
      tools.map(({ name, namespace }) => [name, namespace?.name]),
    )
  }
})

test('the beginning of a name may go on, and the names are gathered once, not for every piece of one', () => {
  let read = 0
  const counted = {
    ...tool('get'),
    get name() {
      read += 1
      return 'get_all'
    },
  }
  const flat = new FlatTools([tool('get'), counted, tool('put', 'a'), tool('put', 'b')])
  const states = (name: string) => [flat.has(name), flat.mayGoOn(name)]
  assert.deepEqual(states('get'), [true, true])
  const before = read
  assert.deepEqual(states('g'), [false, true])
  assert.deepEqual(states('get_all'), [true, false])
  assert.deepEqual(states('a_put'), [true, false])
  assert.deepEqual(states('put'), [false, false])
  assert.equal(read, before)
})
