import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Places } from '#shared/places.ts'

const forever = new AbortController().signal

test('gives out its places, and lets the others wait in turn', async () => {
  const places = new Places(2)
  const got: number[] = []
  const taken = [1, 2, 3, 4].map(async (number) => {
    const place = await places.take(forever)
    got.push(number)
    return place
  })
  const first = await taken[0]
  await taken[1]
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(got, [1, 2])
  first?.[Symbol.dispose]()
  const third = await taken[2]
  assert.deepEqual(got, [1, 2, 3])
  third?.[Symbol.dispose]()
  await taken[3]
})

test('a waiter that gives up loses its turn, and takes no place', async () => {
  const places = new Places(1)
  const place = await places.take(forever)
  const leaving = new AbortController()
  const left = assert.rejects(places.take(leaving.signal), /left/)
  const next = places.take(forever)
  leaving.abort(new Error('left'))
  await left
  place[Symbol.dispose]()
  const last = await next
  last[Symbol.dispose]()
  await assert.rejects(places.take(leaving.signal), /left/)
  using _ = await places.take(forever)
})
