import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import test from 'node:test'
import { gone, openStream, readUntil, selected } from '#test/support/event-stream.ts'
import { openFacade } from '#test/support/facade.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

const EVENTS = 16_000
const big = 'x'.repeat(1_000)

const numbersOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

/** Position of an event: positions sort like their strings. */
const placed = (n: number) => selected(100_000 + n, big)

/** Reads up to an event, or the end; returns the numbers of all events, and the last frame. */
async function read(stream: IncomingMessage, upTo?: number): Promise<{ numbers: number[]; last: string }> {
  const numbers: number[] = []
  let [rest, last] = ['', '']
  stream.setEncoding('utf8')
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    rest += chunk
    if (!chunk.includes('\n')) continue
    const frames = rest.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      last = frame
      numbers.push(...numbersOf(frame))
    }
    if (numbers.at(-1) === upTo) break
  }
  return { numbers, last }
}

forEachTransport((name, connect) => {
  test(`${name}: a client that takes nothing ends with an event that says so; the others get everything, in order`, async () => {
    const begun = Promise.withResolvers<void>()
    let opened = 0
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            opened++
            yield { message: { case: 'connected', value: { position: '100000' } } }
            await begun.promise
            for (let n = 1; n <= EVENTS && !context.signal.aborted; n++) yield placed(n)
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const slow = await openStream(`${facade.url}/api/event`)
    const fast = await Promise.all([1, 2].map(() => openStream(`${facade.url}/api/event`)))
    const reading = fast.map((stream) => read(stream, 100_000 + EVENTS))
    begun.resolve()
    const expected = Array.from({ length: EVENTS }, (_, n) => 100_001 + n)
    for (const { numbers } of await Promise.all(reading)) assert.deepEqual(numbers.slice(1), expected)
    const { numbers, last } = await read(slow)
    const taken = numbers.slice(1)
    assert.deepEqual(taken, expected.slice(0, taken.length))
    assert.ok(taken.length < EVENTS)
    assert.match(last, /^retry: 1000\ndata: .*"server.error".*"EventsOverflowedError".*"service":"gateway"/)
    assert.equal(opened, 1)
    for (const stream of fast) stream.destroy()
    await waitFor('no stream', () => facade.listener.lifecycle.openStreams === 0)
  })

  test(`${name}: clients that read slowly get every event as long as a picture, however many have read it before`, async () => {
    const pictures = 5
    const begun = Promise.withResolvers<void>()
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            yield { message: { case: 'connected', value: { position: '100000' } } }
            await begun.promise
            for (let n = 1; n <= pictures; n++) yield selected(100_000 + n, 'x'.repeat(5_600_000))
            yield placed(pictures + 1)
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const [first, ...others] = await Promise.all([1, 2, 3, 4].map(() => openStream(`${facade.url}/api/event`)))
    assert.ok(first !== undefined)
    begun.resolve()
    const expected = Array.from({ length: pictures + 2 }, (_, n) => 100_000 + n)
    // The others read nothing until this one has everything.
    for (const stream of [first, ...others]) {
      assert.deepEqual((await read(stream, 100_001 + pictures)).numbers, expected)
    }
    for (const stream of [first, ...others]) stream.destroy()
  })

  test(`${name}: a client that reconnects reads the missed events by itself, then shares with the others`, async () => {
    let live = (): void => {}
    const asked: (string | undefined)[] = []
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents({ position }, context) {
            asked.push(position)
            const later = new Promise<void>((resolve) => {
              live = resolve
            })
            if (position === undefined) {
              yield { message: { case: 'connected', value: { position: '100005' } } }
              await later
              for (const n of [6, 7]) yield placed(n)
            } else {
              yield { message: { case: 'connected', value: { position } } }
              for (const n of [3, 4, 5]) yield placed(n)
              yield { message: { case: 'caughtUp', value: { position: '100005' } } }
            }
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const first = await openStream(`${facade.url}/api/event`)
    await readUntil(first, (text) => text.includes('server.connected'))
    const release = live
    const back = await openStream(`${facade.url}/api/event`, { 'last-event-id': '100002' })
    const past = await readUntil(back, (text) => text.includes('evt_100005'))
    release()
    const rest = await Promise.all(
      [first, back].map((stream) => readUntil(stream, (text) => text.includes('evt_100007'))),
    )
    assert.deepEqual(numbersOf(past), [100_002, 100_003, 100_004, 100_005])
    assert.deepEqual(rest.map(numbersOf), [
      [100_006, 100_007],
      [100_006, 100_007],
    ])
    // A client that was away for a moment needs no RPC of its own.
    const again = await openStream(`${facade.url}/api/event`, { 'last-event-id': '100006' })
    assert.deepEqual(numbersOf(await readUntil(again, (text) => text.includes('evt_100007'))), [100_006, 100_007])
    assert.deepEqual(asked, [undefined, '100002'])
    for (const stream of [first, back, again]) stream.destroy()
  })

  test(`${name}: a long event is encoded once, and reaches each client whole and in its place`, async (t) => {
    const agents = ['a', 'é'.repeat(100_000), 'b', 'x'.repeat(3_000_000), 'ü'.repeat(70_000), 'c']
    const begun = Promise.withResolvers<void>()
    await using facade = await openFacade(
      {
        session: {
          async *streamEvents(_, context) {
            yield { message: { case: 'connected', value: { position: '100000' } } }
            await begun.promise
            for (const [n, agent] of agents.entries()) yield selected(100_001 + n, agent)
            await gone(context)
          },
        },
      },
      {},
      connect,
    )
    const streams = await Promise.all([1, 2, 3].map(() => openStream(`${facade.url}/api/event`)))
    const [, , leaving = assert.fail()] = streams
    leaving.once('data', () => leaving.destroy())
    const encode = t.mock.method(Buffer, 'from')
    const reading = streams.slice(0, 2).map((stream) => readUntil(stream, (text) => text.includes('"c"')))
    begun.resolve()
    for (const text of await Promise.all(reading)) {
      const seen = [...text.matchAll(/"agent":"([^"]*)"/g)].map(([, agent]) => agent)
      assert.deepEqual(seen, agents)
    }
    const isLong = (text: unknown) => typeof text === 'string' && text.startsWith('id: ') && text.length > 65_536
    const encoded = encode.mock.calls.filter(({ arguments: [text] }) => isLong(text))
    assert.equal(encoded.length, 3)
    for (const stream of streams) stream.destroy()
    await waitFor('no stream', () => facade.listener.lifecycle.openStreams === 0)
  })
})
