import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Slot, Slots } from './slots.ts'

const never = new AbortController().signal
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Says of each run whether it has its slot by now. */
function queue(slots: Slots) {
  const held: string[] = []
  return {
    held,
    take: (name: string, signal = never): Promise<Slot> =>
      slots.take(signal).then((slot) => {
        held.push(name)
        return slot
      }),
  }
}

test('at most as many slots are given as there are, and the longest waiter comes first', async () => {
  const { held, take } = queue(new Slots(2))
  const a = await take('a')
  const b = await take('b')
  const c = take('c')
  const d = take('d')
  await settle()
  assert.deepEqual(held, ['a', 'b'])
  b[Symbol.dispose]()
  await c
  assert.deepEqual(held, ['a', 'b', 'c'])
  a[Symbol.dispose]()
  a[Symbol.dispose]()
  await d
  const e = take('e')
  await settle()
  assert.deepEqual(held, ['a', 'b', 'c', 'd'], 'one that is given back twice is one')
  const waits = await c
  waits[Symbol.dispose]()
  await e
})

test('a run that rests has no slot, and waits behind the others when it goes on', async () => {
  const { held, take } = queue(new Slots(1))
  const a = await take('a')
  const b = take('b')
  assert.equal(await a.rest(async () => 'slept'), 'slept')
  const c = take('c')
  const again = a.acquire(never).then(() => held.push('a'))
  const first = await b
  await settle()
  assert.deepEqual(held, ['a', 'b'])
  first[Symbol.dispose]()
  const second = await c
  second[Symbol.dispose]()
  await again
  assert.deepEqual(held, ['a', 'b', 'c', 'a'])
})

test('the parts of a run share its slot, which becomes free when all of them rest', async () => {
  const { held, take } = queue(new Slots(1))
  const a = await take('a')
  const b = take('b')
  const [works, ...rests] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  const parts = a.split([
    () => works?.promise as Promise<void>,
    ...rests.map(
      ({ promise }) =>
        () =>
          a.rest(() => promise),
    ),
  ])
  await settle()
  assert.deepEqual(held, ['a'], 'one part works')
  works?.resolve()
  const other = await b
  for (const { resolve } of rests) resolve()
  await parts
  const both = a.split([() => a.acquire(never), () => a.acquire(never)])
  other[Symbol.dispose]()
  await both
  const c = take('c')
  await settle()
  assert.deepEqual(held, ['a', 'b'], 'parts that have ended do not rest')
  await a.rest(() => settle())
  const last = await c
  last[Symbol.dispose]()
})

test('a part that waits twice at once, or within a wait, is one part', async () => {
  const { held, take } = queue(new Slots(1))
  const a = await take('a')
  const b = take('b')
  const works = Promise.withResolvers<void>()
  const rests = Promise.withResolvers<void>()
  const rest = (): Promise<void> => a.rest(() => rests.promise)
  const parts = a.split([() => works.promise, () => Promise.all([rest(), a.rest(rest)]).then(() => {})])
  await settle()
  assert.deepEqual(held, ['a'], 'the other part works')
  rests.resolve()
  works.resolve()
  await parts
  const twice = [a.rest(settle), a.rest(settle)]
  await b
  await Promise.all(twice)
})

test('a waiter that gives up throws the reason of its signal, and holds nobody up', async () => {
  const { held, take } = queue(new Slots(1))
  const a = await take('a')
  const stop = new AbortController()
  const b = take('b', stop.signal)
  const c = take('c')
  stop.abort(new Error('enough'))
  await assert.rejects(b, /enough/)
  await assert.rejects(take('d', stop.signal), /enough/)
  a[Symbol.dispose]()
  await c
  assert.deepEqual(held, ['a', 'c'])
})

test('a run has no slot while others work for it, but counts as busy', async () => {
  const slots = new Slots(1)
  const a = await slots.take(never)
  const work = Promise.withResolvers<string>()
  const left = a.leaveTo(() => work.promise)
  using b = await slots.take(never)
  assert.deepEqual([a.busy, b.busy], [true, true])
  work.resolve('done')
  assert.equal(await left, 'done')
  assert.equal(a.busy, false)
})
