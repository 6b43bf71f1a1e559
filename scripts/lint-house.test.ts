import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blindCasts, fullFolders } from './lint-house.ts'

test('a folder holds at most 20 files, those of subfolders and tests not counted', () => {
  const files = Array.from({ length: 20 }, (_, i) => `gateway/file${i}.ts`)
  assert.deepEqual(fullFolders([...files, 'gateway/a.test.ts', 'gateway/http/a.ts', 'test/http/a.ts']), [])
  assert.deepEqual(fullFolders([...files, 'gateway/one-more.ts']), ['gateway: 21 files, at most 20'])
})

test('a cast by way of unknown is refused outside of adapters and tests', () => {
  const text = 'const a = 1\nconst b = a as unknown as string'
  assert.deepEqual(blindCasts('services/x/domain/a.ts', text), ['services/x/domain/a.ts:2: a cast by way of unknown'])
  for (const path of ['services/x/adapters/mongo/a.ts', 'services/x/rpc/a.test.ts', 'test/support/a.ts']) {
    assert.deepEqual(blindCasts(path, text), [])
  }
})
