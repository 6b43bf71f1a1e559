import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { Grouped } from './grouped.ts'

test('items that arrive while a group is processed form the next group', async () => {
  const groups: (readonly string[])[] = []
  const grouped = new Grouped<string>(async (items) => {
    groups.push(items)
    await new Promise((resolve) => setImmediate(resolve))
  })
  await Promise.all([grouped.do(['a']), grouped.do(['b']), grouped.do(['c', 'd'])])
  await grouped.do(['e'])
  assert.deepEqual(groups, [['a'], ['b', 'c', 'd'], ['e']])
})

test('a batch that fails fails no other one, and in an outage all fail at once', async () => {
  const groups: (readonly string[])[] = []
  let error: Error = new RangeError('no such number')
  const grouped = new Grouped<string>(async (items) => {
    groups.push(items)
    await new Promise((resolve) => setImmediate(resolve))
    if (items.includes('bad')) throw error
  })
  const outcomes = async () =>
    (await Promise.allSettled([grouped.do(['a']), grouped.do(['b']), grouped.do(['bad']), grouped.do(['c'])])).map(
      ({ status }) => status,
    )
  assert.deepEqual(await outcomes(), ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  assert.deepEqual(groups, [['a'], ['b', 'bad', 'c'], ['b'], ['bad'], ['c']])
  groups.length = 0
  error = storeUnavailable('away')
  assert.deepEqual(await outcomes(), ['fulfilled', 'rejected', 'rejected', 'rejected'])
  assert.deepEqual(groups, [['a'], ['b', 'bad', 'c']])
})
