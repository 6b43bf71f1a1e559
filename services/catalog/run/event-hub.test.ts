import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { AgentsUpdatedSchema, CatalogEventSchema } from '#gen/portico/catalog/v1/event_pb.js'
import { EventHub } from './event-hub.ts'

const event = (directory: string, eventId = 'evt_1') => {
  const change = { case: 'agentsUpdated', value: create(AgentsUpdatedSchema) } as const
  return create(CatalogEventSchema, { eventId, createTime: 1, directory, event: change })
}

test('gives a slow reader only the last event of each location, in order', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe((directory) => directory !== '/hidden', new AbortController().signal)
  assert.equal((await stream.next()).value?.case, 'connected')
  for (const [i, directory] of ['/a', '/b', '/hidden', '/a'].entries()) hub.publish(event(directory, `evt_${i}`))
  assert.deepEqual((await stream.next()).value, { case: 'event', value: event('/b', 'evt_1') })
  assert.deepEqual((await stream.next()).value, { case: 'event', value: event('/a', 'evt_3') })
  await stream.return(undefined)
})

test('notifies a reader that falls behind, and goes on with what comes after', async () => {
  const hub = new EventHub()
  const stream = hub.subscribe(() => true, new AbortController().signal)
  await stream.next()
  for (let i = 0; i <= 5_000; i++) hub.publish(event(`/${i}`))
  assert.equal((await stream.next()).value?.case, 'missed')
  hub.publish(event('/after'))
  assert.deepEqual((await stream.next()).value, { case: 'event', value: event('/after') })
  await stream.return(undefined)
})

test('ends the stream of a reader that leaves while it waits', async () => {
  const hub = new EventHub()
  const gone = new AbortController()
  const stream = hub.subscribe(() => true, gone.signal)
  await stream.next()
  const waiting = stream.next()
  gone.abort()
  assert.deepEqual(await waiting, { done: true, value: undefined })
})

test('gives no more events to a reader that leaves while some arrive', async () => {
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
