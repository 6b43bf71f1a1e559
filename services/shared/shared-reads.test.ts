import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SharedReads } from './shared-reads.ts'

/** Reads a value that the test changes; each read returns the value at its beginning. */
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

test('callers of the same turn share one more read while another one is in progress, and each gets the answer of its own key', async () => {
  const { state, read } = newReads()
  const answers = await Promise.all(['a', 'a', 'b', 'a', 'a', 'b'].map(read))
  assert.deepEqual(answers, ['a enabled', 'a enabled', 'b enabled', 'a enabled', 'a enabled', 'b enabled'])
  assert.equal(state.begun, 4)
})

test('a caller that comes after a read has begun gets another one, which sees what changed in between', async () => {
  const { state, read } = newReads()
  const first = read('a')
  state.value = 'disabled'
  const second = read('a')
  assert.deepEqual([await first, await second, state.begun], ['a enabled', 'a disabled', 2])
})

test('a caller that comes while one read is under way and another one waits sees what changed before that begins', async () => {
  const { state, read } = newReads()
  const [first, second] = [read('a'), read('a')]
  state.value = 'disabled'
  const third = read('a')
  assert.deepEqual(await Promise.all([first, second, third]), ['a enabled', 'a disabled', 'a disabled'])
  assert.equal(state.begun, 2)
})

test('a caller that comes after a change gets none of the concurrent reads that began before it', async () => {
  const { state, read } = newReads()
  const first = read('a')
  const second = read('a')
  await turn()
  state.value = 'disabled'
  assert.equal(await read('a'), 'a disabled')
  assert.deepEqual([await first, await second], ['a enabled', 'a enabled'])
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
