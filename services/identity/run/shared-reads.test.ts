import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SharedReads } from './shared-reads.ts'

/** Reads of a value that the test changes; each answers what was there when it began. */
function readsOf(state: { value: string; begun: number }) {
  return new SharedReads(async (key) => {
    state.begun += 1
    const found = `${key} ${state.value}`
    await turn()
    return found
  })
}

test('who asks for the same in one turn shares one read, and nobody gets the answer of another key', async () => {
  const state = { value: 'enabled', begun: 0 }
  const reads = readsOf(state)
  const answers = await Promise.all(['a', 'a', 'b', 'a'].map((key) => reads.read(key)))
  assert.deepEqual([answers, state.begun], [['a enabled', 'a enabled', 'b enabled', 'a enabled'], 2])
})

test('who asks once a read has begun gets another one, which sees what changed in between', async () => {
  const state = { value: 'enabled', begun: 0 }
  const reads = readsOf(state)
  const first = reads.read('a')
  while (state.begun === 0) await turn()
  state.value = 'disabled'
  const second = reads.read('a')
  assert.deepEqual([await first, await second, state.begun], ['a enabled', 'a disabled', 2])
})

test('who asks in the same turn after a change, and before the read, sees the change', async () => {
  const state = { value: 'enabled', begun: 0 }
  const reads = readsOf(state)
  const first = reads.read('a')
  state.value = 'disabled'
  assert.deepEqual(await Promise.all([first, reads.read('a')]), ['a disabled', 'a disabled'])
})

test('a read that fails fails for those who shared it, and for nobody after them', async () => {
  let fails = true
  const reads = new SharedReads(async (key) => {
    if (fails) throw new Error('away')
    return key
  })
  const answers = await Promise.allSettled([reads.read('a'), reads.read('a')])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  fails = false
  assert.equal(await reads.read('a'), 'a')
})
