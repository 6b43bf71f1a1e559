import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Location } from '../domain/location.ts'
import type { ToolSource } from '../ports/tools.ts'
import { joinTools } from './join-tools.ts'

const location: Location = {
  directory: '/project',
  project: { id: 'global', directory: '/project', canonicalDirectory: '/project' },
  subpath: '',
}

test('tools of several sources are offered in their order, and the first of a name has its calls', async () => {
  const disposed: string[] = []
  const joined = joinTools([
    source('one', ['read', 'edit'], disposed),
    source('two', ['edit', 'search'], disposed),
  ]).open(location, () => {})

  const { value, digest } = await joined.read()

  assert.deepEqual(
    value.list().map(({ name, description }) => [name, description]),
    [
      ['read', 'one'],
      ['edit', 'one'],
      ['search', 'two'],
    ],
  )
  assert.deepEqual((await value.prepare(location, 'edit', {})).savePatterns, ['one'])
  assert.deepEqual((await value.prepare(location, 'search', {})).savePatterns, ['two'])
  await assert.rejects(value.prepare(location, 'bash', {}), { reason: 'TOOL_NOT_FOUND', metadata: { name: 'bash' } })
  assert.notEqual(
    digest,
    (
      await joinTools([source('one', ['read'], disposed)])
        .open(location, () => {})
        .read()
    ).digest,
  )
  joined[Symbol.dispose]()
  assert.deepEqual(disposed, ['one', 'two'])
})

function source(owner: string, names: readonly string[], disposed: string[]): ToolSource {
  const prepared = { accesses: [], savePatterns: [owner], run: () => Promise.reject(new Error('not run')) }
  const value = {
    list: () => names.map((name) => ({ name, description: owner, inputSchema: {} })),
    prepare: () => Promise.resolve(prepared),
  }
  return {
    open: () => ({
      read: () => Promise.resolve({ value, digest: `${owner} ${names}` }),
      [Symbol.dispose]: () => void disposed.push(owner),
    }),
  }
}
