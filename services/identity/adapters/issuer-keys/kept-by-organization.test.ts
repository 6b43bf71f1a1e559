import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptByOrganization } from './kept-by-organization.ts'

test('the largest organization loses its least recently used entries when the total size is exceeded', () => {
  const kept = new KeptByOrganization<{ readonly value: number }>(100)
  const keep = (organizationId: string, id: number, size: number) => {
    kept.keep(organizationId, `${id}`, { value: id }, size)
  }
  const idsOf = (organizationId: string) =>
    Array.from({ length: 100 }, (_, id) => id).filter((id) => kept.get(organizationId, `${id}`) !== undefined)
  keep('small', 0, 30)
  for (const organizationId of ['one', 'two']) for (let id = 0; id < 100; id++) keep(organizationId, id, 5)
  assert.deepEqual(idsOf('small'), [0])
  assert.deepEqual(
    [idsOf('one'), idsOf('two')].map((ids) => ids.length),
    [7, 7],
  )
  assert.deepEqual(idsOf('two'), [93, 94, 95, 96, 97, 98, 99])
  // It is used again, and counted only once when it is replaced.
  kept.get('two', '93')
  for (let round = 0; round < 9; round++) keep('small', 0, 30)
  keep('two', 0, 5)
  keep('two', 1, 5)
  assert.deepEqual(idsOf('small'), [0])
  assert.equal(kept.get('two', '93')?.value, 93)
  // A value larger than the whole limit is not cached, and evicts nothing.
  keep('huge', 0, 101)
  assert.deepEqual([idsOf('huge'), idsOf('small')], [[], [0]])
})
