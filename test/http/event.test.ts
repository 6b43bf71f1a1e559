import assert from 'node:assert/strict'
import test from 'node:test'
import { Code } from '@connectrpc/connect'
import { EventSource } from 'eventsource'
import { Rejection } from '#shared/rejection.ts'
import { connected, gone, openStream, readUntil, selected } from '#test/support/event-stream.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'

type StreamEvents = NonNullable<NonNullable<Stubs['session']>['streamEvents']>

test('the stream opens with its headers and server.connected, then each event in a frame with its position', async () => {
  await using facade = await openFacade({
    session: {
      async *streamEvents(_, context) {
        yield connected
        yield selected(7)
        await gone(context)
      },
    },
  })
  const stream = await openStream(`${facade.url}/api/event`)
  assert.equal(stream.statusCode, 200)
  assert.equal(stream.headers['content-type'], 'text/event-stream')
  assert.equal(stream.headers['cache-control'], 'no-cache, no-transform')
  assert.equal(stream.headers['x-accel-buffering'], 'no')
  assert.equal(stream.headers['x-content-type-options'], 'nosniff')
  const text = await readUntil(stream, (text) => text.includes('evt_7'))
  const [first, second, rest] = text.split('\n\n')
  const { id, created, ...hello } = JSON.parse((first as string).replace(/^id: 6\ndata: /, ''))
  assert.match(id, /^evt_/)
  assert.equal(typeof created, 'number')
  assert.deepEqual(hello, { type: 'server.connected', data: {} })
  const [idLine, dataLine] = (second as string).split('\n')
  assert.equal(idLine, 'id: 7')
  assert.deepEqual(JSON.parse((dataLine as string).replace(/^data: /, '')), {
    id: 'evt_7',
    created: 1_700_000_000_250,
    type: 'session.agent.selected',
    durable: { aggregateID: 'ses_1', seq: 7, version: 1 },
    location: { directory: '/srv/project' },
    data: { sessionID: 'ses_1', agent: 'plan' },
  })
  assert.equal(rest, '')
  stream.destroy()
})

test('an RPC that is refused before its first message is an ordinary error', async () => {
  await using facade = await openFacade({
    reasons: { REQUEST_INVALID: { code: Code.InvalidArgument, message: 'M' } },
    session: {
      // biome-ignore lint/correctness/useYield: it fails first.
      async *streamEvents() {
        throw new Rejection('REQUEST_INVALID', { field: 'position', problem: 'Not a position' })
      },
    },
  })
  const answer = await facade.fetch('/api/event')
  assert.equal(answer.status, 400)
  const message = 'position: Not a position'
  assert.deepEqual(await answer.json(), { _tag: 'InvalidRequestError', message, field: 'position' })
})

test('a client that comes back with Last-Event-ID loses nothing and sees nothing twice', async () => {
  const positions: string[] = []
  const log = Array.from({ length: 20 }, (_, index) => selected(index + 1))
  const streamEvents: StreamEvents = async function* ({ position }) {
    // The stream that all clients share starts from now.
    if (position !== undefined) positions.push(position)
    yield connected
    // Each connection is cut after ten events.
    const start = Number(position ?? '0')
    for (const event of log.slice(start, start + 10)) yield event
    if (start + 10 < log.length) throw new Error('cut')
  }
  await using facade = await openFacade({ session: { streamEvents } })
  const source = new EventSource(`${facade.url}/api/event`)
  const seen: string[] = []
  await new Promise<void>((resolve) => {
    source.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data)
      if (event.type === 'session.agent.selected') seen.push(event.id)
      if (seen.length === log.length) resolve()
    })
  })
  source.close()
  assert.deepEqual(
    seen,
    log.map(({ message }) => message.value.eventId),
  )
  assert.deepEqual(positions, ['10'])
})

test('a position may come in the query; the header is newer', async () => {
  const positions: string[] = []
  await using facade = await openFacade({
    session: {
      async *streamEvents({ position }) {
        if (position !== undefined) positions.push(position)
        yield connected
      },
    },
  })
  await (await facade.fetch('/api/event?after=5')).text()
  await (await facade.fetch('/api/event?after=5', { headers: { 'last-event-id': '9' } })).text()
  assert.deepEqual(positions, ['5', '9'])
  const answer = await facade.fetch(`/api/event?after=${'9'.repeat(1_025)}`)
  assert.equal(answer.status, 400)
})

test('missed events are announced, never passed over', async () => {
  await using facade = await openFacade({
    session: {
      async *streamEvents() {
        yield connected
        yield { message: { case: 'missed', value: {} } }
      },
    },
  })
  const text = await (await facade.fetch('/api/event')).text()
  assert.match(text, /"type":"server\.resync","data":\{\}\}\n\n$/)
})

test('a reader that fell behind gets a resync, and the stream ends', async () => {
  await using facade = await openFacade({
    reasons: { EVENTS_OVERFLOWED: { code: Code.ResourceExhausted, message: 'M' } },
    session: {
      async *streamEvents() {
        yield connected
        throw new Rejection('EVENTS_OVERFLOWED')
      },
    },
  })
  const text = await (await facade.fetch('/api/event')).text()
  const last = JSON.parse((text.trimEnd().split('\n\n').at(-1) as string).replace(/^retry: 1000\ndata: /, ''))
  assert.equal(last.type, 'server.error')
  const message = 'The reader fell behind; resume from the last id'
  assert.deepEqual(last.data, { _tag: 'EventsOverflowedError', message, service: 'test' })
})
