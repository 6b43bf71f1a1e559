import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Code, type HandlerContext } from '@connectrpc/connect'
import { EventSource } from 'eventsource'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'

const connected = { message: { case: 'connected', value: {} } } as const

/** A durable event, as the session service would stream it. */
const selected = (seq: number, agent = 'plan') =>
  ({
    message: {
      case: 'event',
      value: {
        eventId: `evt_${seq}`,
        createTime: { seconds: 1_700_000_000n, nanos: 250_000_000 },
        sessionId: 'ses_1',
        directory: '/work/project',
        seq: BigInt(seq),
        position: String(seq),
        event: { case: 'agentSelected', value: { agent } },
      },
    },
  }) as const

type StreamEvents = NonNullable<NonNullable<Stubs['session']>['streamEvents']>

/** Resolves when the caller of an RPC is gone. */
const gone = (context: HandlerContext): Promise<unknown> =>
  context.signal.aborted ? Promise.resolve() : once(context.signal, 'abort')

/** Opens the stream; answers the response once its headers are there. */
function openStream(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, resolve).on('error', reject).end()
  })
}

/** Reads until the text so far passes the test, or the stream ends. */
async function readUntil(stream: IncomingMessage, enough: (text: string) => boolean): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (enough(text)) break
  }
  return text
}

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
  const { id, created, ...hello } = JSON.parse((first as string).replace(/^data: /, ''))
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
    location: { directory: '/work/project' },
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
    positions.push(position)
    yield connected
    // Each connection is cut after ten events.
    const start = Number(position || '0')
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
  assert.deepEqual(positions.slice(0, 2), ['', '10'])
})

test('a position may come in the query; the header is newer', async () => {
  const positions: string[] = []
  await using facade = await openFacade({
    session: {
      async *streamEvents({ position }) {
        positions.push(position)
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

test('missed events are told, never passed over', async () => {
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

test('a reader that fell behind is told so, and the stream ends', async () => {
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
  const message = 'The reader fell behind; read on from the last id'
  assert.deepEqual(last.data, { _tag: 'EventsOverflowedError', message })
})

test('a quiet stream has heartbeats', async () => {
  const stubs: Stubs = {
    session: {
      async *streamEvents(_, context) {
        yield connected
        await gone(context)
      },
    },
  }
  await using facade = await openFacade(stubs, { PORTICO_HEARTBEAT_MS: '10' })
  const stream = await openStream(`${facade.url}/api/event`)
  await readUntil(stream, (text) => text.split(': heartbeat\n\n').length > 3)
  stream.destroy()
})

test('a client that hangs up ends the RPC, and nothing is left open', async () => {
  const ended = Promise.withResolvers<void>()
  await using facade = await openFacade({
    session: {
      async *streamEvents(_, context) {
        context.signal.addEventListener('abort', () => ended.resolve())
        yield connected
        await gone(context)
      },
    },
  })
  const stream = await openStream(`${facade.url}/api/event`)
  await readUntil(stream, (text) => text.includes('server.connected'))
  assert.equal(facade.listener.lifecycle.openStreams, 1)
  stream.destroy()
  await ended.promise
  while (facade.listener.lifecycle.openStreams > 0) await delay(1)
})

test('a client that hangs up before the first message ends the RPC too', async () => {
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  await using facade = await openFacade({
    session: {
      async *streamEvents(_, context) {
        context.signal.addEventListener('abort', () => ended.resolve())
        started.resolve()
        await gone(context)
      },
    },
  })
  const outgoing = request(`${facade.url}/api/event`).on('error', () => {})
  outgoing.end()
  await started.promise
  outgoing.destroy()
  await ended.promise
})

test('a client that does not read holds the RPC back', async () => {
  let pulled = 0
  const big = 'x'.repeat(10_000)
  await using facade = await openFacade({
    session: {
      async *streamEvents(_, context) {
        yield connected
        while (!context.signal.aborted && pulled < 100_000) yield selected(++pulled, big)
      },
    },
  })
  const stream = await openStream(`${facade.url}/api/event`)
  let before = -1
  while (before !== pulled) {
    before = pulled
    await delay(100)
  }
  // What was pulled lies in the socket's buffers: megabytes at most, of the gigabyte that was on offer.
  assert.ok(pulled < 10_000, `${pulled} events were pulled`)
  stream.destroy()
})

test('a server that stops ends its streams at once, and tells clients when to come back', async () => {
  const ended = Promise.withResolvers<void>()
  const facade = await openFacade({
    session: {
      async *streamEvents(_, context) {
        context.signal.addEventListener('abort', () => ended.resolve())
        yield connected
        await gone(context)
      },
    },
  })
  const stream = await openStream(`${facade.url}/api/event`)
  await readUntil(stream, (text) => text.includes('server.connected'))
  const rest = readUntil(stream, () => false)
  await facade[Symbol.asyncDispose]()
  await ended.promise
  assert.equal(await rest, 'retry: 1000\n\n')
  assert.equal(facade.listener.lifecycle.openStreams, 0)
})
