import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamEventsResponse as CatalogMessage } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { StreamEventsResponse as SessionMessage } from '#gen/portico/session/v1/session_service_pb.js'
import { mergeEvents } from './merge.ts'

/** A stream that the test feeds; it counts how often it was pulled. */
function feed<T>() {
  const queue: (T | Error)[] = []
  let waiting: PromiseWithResolvers<void> | undefined
  const stream = {
    pulled: 0,
    push(...items: (T | Error)[]) {
      queue.push(...items)
      waiting?.resolve()
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        stream.pulled++
        while (queue.length === 0) {
          waiting = Promise.withResolvers()
          await waiting.promise
        }
        const item = queue.shift() as T | Error
        if (item instanceof Error) throw item
        yield item
      }
    },
  }
  return stream
}

const connected = { message: { case: 'connected', value: {} } }
const event = (eventId: string) => ({ message: { case: 'event', value: { eventId } } })
const text = ({ message }: SessionMessage | CatalogMessage) =>
  message.case === 'event' ? message.value.eventId : String(message.case)

function begin() {
  const session = feed<object>()
  const catalogs = [feed<object>(), feed<object>()] as const
  let opened = 0
  const gone = new AbortController()
  const merged = mergeEvents({
    session: session as unknown as AsyncIterable<SessionMessage>,
    catalog: () => catalogs[opened++] as unknown as AsyncIterable<CatalogMessage>,
    fromSession: (message) => `session ${text(message)}`,
    fromCatalog: (message) => `catalog ${text(message)}`,
    signal: gone.signal,
  })
  return { session, catalogs, gone, next: async () => (await merged.next()).value }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('the stream begins with the session’s events, once the catalog’s stream is open too', async () => {
  const { session, catalogs, gone, next } = begin()
  const first = next()
  session.push(connected)
  await turn()
  catalogs[0].push(connected, event('a1'))
  assert.equal(await first, 'session connected')
  session.push(event('s1'))
  assert.deepEqual([await next(), await next()].sort(), ['catalog a1', 'session s1'])
  gone.abort()
})

test('a catalog that does not answer delays nobody for long, and does not hold back the session', async () => {
  const { session, gone, next } = begin()
  session.push(connected, event('s1'))
  assert.deepEqual([await next(), await next()], ['session connected', 'session s1'])
  gone.abort()
})

test('a client is notified that events may have been missed when the catalog is back', async () => {
  const { session, catalogs, gone, next } = begin()
  session.push(connected)
  catalogs[0].push(connected, event('a1'), new Error('gone'))
  catalogs[1].push(connected, event('a2'))
  assert.deepEqual([await next(), await next()], ['session connected', 'catalog a1'])
  const waiting = next()
  session.push(event('s1'))
  assert.equal(await waiting, 'session s1', 'the session goes on meanwhile')
  assert.deepEqual([await next(), await next()], ['catalog missed', 'catalog a2'])
  gone.abort()
})

test('a failure or end of the session ends the stream, also when a frame of the catalog was taken meanwhile', async () => {
  const { session, catalogs, gone, next } = begin()
  session.push(connected)
  catalogs[0].push(connected)
  await next()
  const waiting = next()
  catalogs[0].push(event('a1'))
  assert.equal(await waiting, 'catalog a1')
  session.push(new Error('overflowed'))
  await turn()
  await assert.rejects(next(), /overflowed/)
  gone.abort()
})

test('a failure of the session before the first frame is thrown as it is', async () => {
  const { session, gone, next } = begin()
  session.push(new Error('refused'))
  await assert.rejects(next(), /refused/)
  gone.abort()
})

test('an event that cannot be a frame fails the stream, whether somebody waits for it or not', async () => {
  const { session, catalogs, gone, next } = begin()
  session.push(connected)
  catalogs[0].push(connected)
  await next()
  const waiting = assert.rejects(next(), TypeError)
  session.push({ no: 'message' })
  await waiting
  gone.abort()

  const other = begin()
  other.session.push(connected)
  other.catalogs[0].push(connected)
  await other.next()
  const taken = other.next()
  other.catalogs[0].push(event('a1'))
  assert.equal(await taken, 'catalog a1')
  other.session.push({ no: 'message' })
  await turn()
  await assert.rejects(other.next(), TypeError)
  other.gone.abort()
})

test('a client that reads nothing holds both streams back, and loses nothing', async () => {
  const { session, catalogs, gone, next } = begin()
  const ids = Array.from({ length: 50 }, (_, i) => String(i))
  session.push(connected, ...ids.map((id) => event(id)))
  catalogs[0].push(connected, ...ids.map((id) => event(id)))
  await next()
  for (let i = 0; i < 20; i++) await turn()
  assert.ok(session.pulled + catalogs[0].pulled <= 4)
  const frames: (string | undefined)[] = []
  for (let i = 0; i < 100; i++) frames.push(await next())
  for (const from of ['session', 'catalog']) {
    const own: (string | undefined)[] = frames.filter((frame) => frame?.startsWith(from))
    assert.deepEqual(
      own,
      ids.map((id) => `${from} ${id}`),
    )
  }
  gone.abort()
})
