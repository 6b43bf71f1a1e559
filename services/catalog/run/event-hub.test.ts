import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventHub, type HubItem } from './event-hub.ts'

const event = (directory: string, id = 'evt_1') => ({ id, timeCreated: 1, directory, type: 'agents-updated' }) as const

test('a slow reader gets only the last of a location’s events, in the order in which they came', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe((directory) => directory !== '/hidden', new AbortController().signal)
  assert.deepEqual((await stream.next()).value, { type: 'ready' })
  for (const [i, directory] of ['/a', '/b', '/hidden', '/a'].entries()) hub.publish(event(directory, `evt_${i}`))
  assert.deepEqual((await stream.next()).value, { type: 'event', event: event('/b', 'evt_1') })
  assert.deepEqual((await stream.next()).value, { type: 'event', event: event('/a', 'evt_3') })
  await stream.return(undefined)
})

test('a reader that falls behind receives missed, and then what comes after', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe(() => true, new AbortController().signal)
  await stream.next()
  for (let i = 0; i <= 5_000; i++) hub.publish(event(`/${i}`))
  const items: (HubItem | undefined)[] = [(await stream.next()).value]
  hub.publish(event('/after'))
  items.push((await stream.next()).value)
  assert.deepEqual(items, [{ type: 'missed' }, { type: 'event', event: event('/after') }])
  await stream.return(undefined)
})

test('a reader that leaves, waiting or not, ends the stream', async () => {
  const hub = new EventHub()
  const gone = new AbortController()
  const stream = hub.subscribe(() => true, gone.signal)
  await stream.next()
  const waiting = stream.next()
  gone.abort()
  assert.deepEqual(await waiting, { done: true, value: undefined })
})

test('a reader that leaves while events come gets no more of them', async () => {
  const hub = new EventHub()
  const gone = new AbortController()
  const stream = hub.subscribe(() => true, gone.signal)
  await stream.next()
  hub.publish(event('/a'))
  hub.publish(event('/b'))
  await stream.next()
  gone.abort()
  assert.deepEqual(await stream.next(), { done: true, value: undefined })
})
