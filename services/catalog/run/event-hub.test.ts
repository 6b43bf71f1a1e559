import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventHub, type HubItem } from './event-hub.ts'

const event = (directory: string, id = 'evt_1') => ({ id, timeCreated: 1, directory, type: 'agents-updated' }) as const

test('a location’s events that a slow reader has not taken merge into one, in the place of the first', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe((directory) => directory !== '/hidden', new AbortController().signal)
  assert.deepEqual((await stream.next()).value, { type: 'ready' })
  for (const [i, directory] of ['/a', '/b', '/hidden', '/a'].entries()) hub.publish(event(directory, `evt_${i}`))
  assert.deepEqual((await stream.next()).value, { type: 'event', event: event('/a', 'evt_3') })
  assert.deepEqual((await stream.next()).value, { type: 'event', event: event('/b', 'evt_1') })
  await stream.return(undefined)
})

test('a reader that falls behind receives missed, and then what came after', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe(() => true, new AbortController().signal)
  await stream.next()
  for (let i = 0; i <= 1_000; i++) hub.publish(event(`/${i}`))
  const items: (HubItem | undefined)[] = [(await stream.next()).value, (await stream.next()).value]
  assert.deepEqual(items, [{ type: 'missed' }, { type: 'event', event: event('/1000') }])
  await stream.return(undefined)
})

test('an event that replaces a waiting one drops none, however many wait', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe(() => true, new AbortController().signal)
  await stream.next()
  for (let i = 0; i < 1_000; i++) hub.publish(event(`/${i}`))
  hub.publish(event('/0', 'evt_2'))
  assert.deepEqual((await stream.next()).value, { type: 'event', event: event('/0', 'evt_2') })
  assert.deepEqual((await stream.next()).value, { type: 'event', event: event('/1') })
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
