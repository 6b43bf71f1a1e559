import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { type Location, ToolSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { locationAt } from '#test/support/location.ts'
import type { ToolSource } from '../ports/tools.ts'
import { joinToolSources } from './join-tools.ts'

const location = locationAt('/project')

test('tools of several sources are offered in order, under distinct names, and a call reaches the source of its tool', async () => {
  const disposed: string[] = []
  const joined = joinToolSources([
    source('one', ['read', 'edit'], disposed),
    source('two', ['edit', 'search'], disposed),
  ]).open(location, () => {})

  const { value, digest } = await joined.read()

  assert.deepEqual(
    value.list().map(({ name, description }) => [name, description]),
    [
      ['read', 'one'],
      ['edit', 'one'],
      ['edit_2', 'two'],
      ['search', 'two'],
    ],
  )
  assert.deepEqual((await value.prepare(location, 'edit', {})).savePatterns, ['one'])
  assert.deepEqual((await value.prepare(location, 'edit_2', {})).savePatterns, ['two'])
  assert.deepEqual((await value.prepare(location, 'search', {})).savePatterns, ['two'])
  await assert.rejects(value.prepare(location, 'bash', {}), { reason: 'TOOL_NOT_FOUND', metadata: { name: 'bash' } })
  assert.notEqual(
    digest,
    (
      await joinToolSources([source('one', ['read'], disposed)])
        .open(location, () => {})
        .read()
    ).digest,
  )
  joined[Symbol.dispose]()
  assert.deepEqual(disposed, ['one', 'two'])
})

function source(owner: string, names: readonly string[], disposed: string[]): ToolSource {
  const prepared = {
    accesses: [],
    savePatterns: [owner],
    external: false,
    run: () => Promise.reject(new Error('not run')),
  }
  const value = {
    list: () => names.map((name) => create(ToolSchema, { name, description: owner, inputSchema: {} })),
    async prepare(_: Location, name: string) {
      assert.ok(names.includes(name))
      return prepared
    },
  }
  return {
    open: () => ({
      read: () => Promise.resolve({ value, digest: `${owner} ${names}` }),
      [Symbol.dispose]: () => void disposed.push(owner),
    }),
  }
}

test('the names of tools are distinct, and no longer than providers admit', async () => {
  const long = 'x'.repeat(64)
  const names = [long, `${long.slice(2)}_2`, 'a', 'a_2']
  const sources = ['one', 'two', 'three'].map((owner) => source(owner, names, []))
  const { value } = await joinToolSources(sources)
    .open(location, () => {})
    .read()
  const offered = value.list().map(({ name }) => name)
  assert.equal(new Set(offered).size, 12)
  assert.ok(offered.every((name) => name.length <= 64))
  for (const name of offered) await value.prepare(location, name, {})
})
