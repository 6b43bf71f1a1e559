import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MappedStream } from './streams.ts'

/** Counts from one, and records that it was left. */
async function* counting(most: number, noted: string[]): AsyncGenerator<number> {
  try {
    for (let n = 1; n <= most; n++) yield n
  } finally {
    noted.push('left')
  }
}

test('a mapped stream is opened at the first pull, maps each item, and ends with its source', async () => {
  const noted: string[] = []
  const open = async () => {
    noted.push('opened')
    return counting(3, noted)
  }
  const stream = new MappedStream(open, (n) => n * 10)
  assert.deepEqual(noted, [])
  assert.deepEqual(await Array.fromAsync(stream), [10, 20, 30])
  assert.deepEqual(noted, ['opened', 'left'])
})

test('leaving a mapped stream closes its source, also while that is being opened', async () => {
  const noted: string[] = []
  for await (const item of new MappedStream(async () => counting(3, noted), String)) {
    assert.equal(item, '1')
    break
  }
  assert.deepEqual(noted, ['left'])
  const opening = Promise.withResolvers<AsyncIterable<number>>()
  const stream = new MappedStream(() => opening.promise, String)
  const first = stream.next()
  const left = stream.return()
  opening.resolve(counting(3, noted))
  assert.deepEqual(
    [await first, await left],
    [
      { done: false, value: '1' },
      { done: true, value: undefined },
    ],
  )
  assert.deepEqual(noted, ['left', 'left'])
})

test('a mapped stream fails with the error of what opens or feeds it, and can be left afterwards', async () => {
  const stream = new MappedStream(() => Promise.reject(new Error('not opened')), String)
  await assert.rejects(stream.next(), /not opened/)
  assert.deepEqual(await stream.return(), { done: true, value: undefined })
  async function* failing(): AsyncGenerator<number> {
    yield 1
    throw new Error('broken')
  }
  const broken = new MappedStream(async () => failing(), String)
  assert.deepEqual(await broken.next(), { done: false, value: '1' })
  await assert.rejects(broken.next(), /broken/)
})
