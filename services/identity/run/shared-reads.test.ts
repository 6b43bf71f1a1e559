import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SharedReads } from './shared-reads.ts'

/** Reads a value that the test changes; each answers what was there when it began. */
function newReads() {
  const state = { value: 'enabled', begun: 0 }
  const reads = new SharedReads<string>()
  const read = (key: string) =>
    reads.read(key, async () => {
      state.begun += 1
      const found = `${key} ${state.value}`
      await turn()
      return found
    })
  return { state, read }
}

test('who asks for the same in one turn shares one read, and nobody gets the answer of another key', async () => {
  const { state, read } = newReads()
  const answers = await Promise.all(['a', 'a', 'b', 'a'].map(read))
  assert.deepEqual([answers, state.begun], [['a enabled', 'a enabled', 'b enabled', 'a enabled'], 2])
})

test('who asks once a read has begun gets another one, which sees what changed in between', async () => {
  const { state, read } = newReads()
  const first = read('a')
  while (state.begun === 0) await turn()
  state.value = 'disabled'
  const second = read('a')
  assert.deepEqual([await first, await second, state.begun], ['a enabled', 'a disabled', 2])
})

test('who asks in the same turn after a change, and before the read, sees the change', async () => {
  const { state, read } = newReads()
  const first = read('a')
  state.value = 'disabled'
  assert.deepEqual(await Promise.all([first, read('a')]), ['a disabled', 'a disabled'])
})

test('a read that fails fails for those who shared it, and for nobody after them', async () => {
  const reads = new SharedReads<string>()
  const fail = () => Promise.reject(new Error('away'))
  const answers = await Promise.allSettled([reads.read('a', fail), reads.read('a', fail)])
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await reads.read('a', async () => 'found'), 'found')
})
