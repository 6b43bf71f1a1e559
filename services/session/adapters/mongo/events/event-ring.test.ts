import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventRecord } from '#services/session/adapters/common/event-record.ts'
import { EventRing } from './event-ring.ts'

const event = (place: string) => ({ place, record: { data: place } as unknown as EventRecord })

test('a reader that is ahead of the ring gets nothing twice once the ring has caught up', () => {
  const ring = new EventRing('a')
  ring.push(event('b'))
  const number = ring.after('d') ?? assert.fail('the place lies before the ring')
  assert.equal(ring.next(number, 'd'), undefined)
  for (const place of ['c', 'd']) ring.push(event(place))
  assert.equal(ring.next(number, 'd'), undefined)
  ring.push(event('e'))
  assert.deepEqual(ring.next(number, 'd'), { ...event('e'), number: 3 })
})

test('a reader that starts within the ring gets what follows, in order', () => {
  const ring = new EventRing('a')
  for (const place of ['b', 'c', 'd']) ring.push(event(place))
  const number = ring.after('b') ?? assert.fail('the place lies before the ring')
  assert.equal(ring.next(number, 'b')?.place, 'c')
  assert.equal(ring.next(number + 1, 'c')?.place, 'd')
  assert.equal(ring.next(number + 2, 'd'), undefined)
})
