import assert from 'node:assert/strict'
import { mock, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { ResponseReader } from './response-reader.ts'

/** A response whose time and ticks pass only when the test says so. */
function begin(t: TestContext) {
  let now = 1_000
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const client = new AbortController()
  const reader = new ResponseReader('p', client.signal)
  const controller = { paused: false, pause: mock.fn(), resume: mock.fn(), abort: mock.fn() }
  const undici = controller as unknown as Dispatcher.DispatchController
  const come = (text: string): void => reader.onResponseData(undici, Buffer.from(text))
  const pass = (ms: number): void => {
    now += ms
    t.mock.timers.tick(ms)
  }
  /** What the read has returned by now: the texts of its chunks, an error, or that it waits. */
  const soFar = async (read: ReturnType<ResponseReader['read']>): Promise<unknown> => {
    const texts = read.then(
      (chunks) => chunks?.map(String) ?? 'the end',
      (error: unknown) => error,
    )
    return Promise.race([texts, nextTurn('waits')])
  }
  reader.onRequestStart(undici)
  reader.onResponseStart(undici, 200, {})
  return { reader, undici, client, come, pass, soFar }
}

/** A response whose first chunk was read just now, and a read of what follows. */
async function inBurst(t: TestContext) {
  const response = begin(t)
  response.come('a')
  assert.deepEqual(await response.soFar(response.reader.read()), ['a'])
  return { ...response, read: response.reader.read() }
}

test('the first chunk, and one that comes after a pause, are read at once', async (t) => {
  const { reader, come, pass, soFar } = begin(t)
  for (const text of ['a', 'b', 'c']) {
    const read = reader.read()
    assert.equal(await soFar(read), 'waits')
    come(text)
    assert.deepEqual(await soFar(read), [text])
    pass(2)
  }
})

test('chunks of a burst are read together, in order', async (t) => {
  const { read, come, pass, soFar } = await inBurst(t)
  for (const text of ['b', 'c', 'd']) {
    come(text)
    assert.equal(await soFar(read), 'waits')
  }
  pass(2)
  assert.deepEqual(await soFar(read), ['b', 'c', 'd'])
})

test('the end of a response is read without delay', async (t) => {
  const { reader, come, pass, soFar, read } = await inBurst(t)
  come('b')
  reader.onResponseEnd()
  assert.deepEqual(await soFar(read), ['b'])
  assert.equal(await soFar(reader.read()), 'the end')
  pass(2)
})

test('what came before a response broke off is read first', async (t) => {
  const { reader, undici, come, pass, soFar, read } = await inBurst(t)
  come('b')
  reader.onResponseError(undici, new Error('reset'))
  assert.deepEqual(await soFar(read), ['b'])
  assert.match(String(await soFar(reader.read())), /PROVIDER_UNAVAILABLE/)
  pass(2)
})

test('an abort ends a read that waits for the rest of a burst', async (t) => {
  const { client, come, pass, soFar, read } = await inBurst(t)
  come('b')
  client.abort(new Error('gone'))
  assert.match(String(await soFar(read)), /gone/)
  pass(2)
})

test('a tick after which nothing is left to read wakes nobody', async (t) => {
  const { reader, come, pass, soFar, read } = await inBurst(t)
  come('b')
  pass(2)
  assert.deepEqual(await soFar(read), ['b'])
  come('c')
  assert.deepEqual(await soFar(reader.read()), ['c'])
  const next = reader.read()
  pass(2)
  assert.equal(await soFar(next), 'waits')
  come('d')
  assert.deepEqual(await soFar(next), ['d'])
})
