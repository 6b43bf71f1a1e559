import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ProcessPlace, ProcessPlaces } from './process-places.ts'

const NEVER = new AbortController().signal
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Places; the test sees which holder is asked to give its own back. */
function begin(size: number, starts = size) {
  const places = new ProcessPlaces(size, starts)
  const asked: string[] = []
  const taken: string[] = []
  const take = async (name: string, signal = NEVER): Promise<ProcessPlace> => {
    const place = await places.take(signal, () => void asked.push(name))
    taken.push(name)
    return place
  }
  return { asked, taken, take }
}

test('the longest idle process gives its place up when none is free, once it has ended', async () => {
  const { asked, taken, take } = begin(3)
  const [a, b, c] = await Promise.all([take('a'), take('b'), take('c')])
  for (const place of [a, b, c]) place.use()[Symbol.dispose]()
  a.use()[Symbol.dispose]()
  const waiting = take('d')
  await turn()
  assert.deepEqual([asked, taken], [['b'], ['a', 'b', 'c']])
  b[Symbol.dispose]()
  await waiting
  assert.deepEqual(taken, ['a', 'b', 'c', 'd'])
})

test('a process that starts or works is not asked to leave; waiters get the places of idle ones in turn', async () => {
  const { asked, taken, take } = begin(2)
  const [a, b] = await Promise.all([take('a'), take('b')])
  const [one, other] = [b.use(), b.use()]
  const waiting = [take('c'), take('d')]
  await turn()
  one[Symbol.dispose]()
  one[Symbol.dispose]()
  assert.deepEqual(asked, [], 'one starts, the other one is used twice')
  other[Symbol.dispose]()
  assert.deepEqual(asked, ['b'])
  a[Symbol.dispose]()
  await waiting[0]
  assert.deepEqual(taken, ['a', 'b', 'c'], 'the one that came first, whose place ever was given back')
  b[Symbol.dispose]()
  await waiting[1]
  assert.deepEqual([taken, asked], [['a', 'b', 'c', 'd'], ['b']])
})

test('no more processes are asked to leave than there are waiters, and each only once', async () => {
  const { asked, take } = begin(3)
  const places = await Promise.all(['a', 'b', 'c'].map((name) => take(name)))
  for (const place of places) place.use()[Symbol.dispose]()
  void take('d')
  places[0]?.use()[Symbol.dispose]()
  void take('e')
  assert.deepEqual(asked, ['a', 'b'])
})

test('a waiter that gives up leaves the queue, and a place that is returned twice counts once', async () => {
  const { taken, take } = begin(1)
  const gone = new AbortController()
  const a = await take('a')
  const given = assert.rejects(take('b', gone.signal), { message: 'enough' })
  gone.abort(new Error('enough'))
  await given
  await assert.rejects(take('c', gone.signal), { message: 'enough' })
  a[Symbol.dispose]()
  a[Symbol.dispose]()
  await take('d')
  const waiting = new AbortController()
  const last = take('e', waiting.signal)
  await turn()
  assert.deepEqual(taken, ['a', 'd'])
  waiting.abort()
  await assert.rejects(last)
})

test('few processes start at a time: the next one starts when another has started, has ended, or has taken too long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { taken, take } = begin(5, 1)
  const waiting = new AbortController()
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => take(name, name === 'd' ? waiting.signal : NEVER))
  const place = await a
  await turn()
  assert.deepEqual(taken, ['a'])
  place?.started()
  place?.started()
  ;(await b)?.[Symbol.dispose]()
  await c
  assert.deepEqual(taken, ['a', 'b', 'c'])
  const given = assert.rejects(d ?? Promise.resolve(), { message: 'enough' })
  waiting.abort(new Error('enough'))
  await given
  t.mock.timers.tick(2_000)
  await e
  assert.deepEqual(taken, ['a', 'b', 'c', 'e'])
})
