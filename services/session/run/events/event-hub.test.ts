import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { SessionDeletedSchema } from '#gen/portico/session/v1/event_pb.js'
import { Outcome, type Session } from '#gen/portico/session/v1/session_pb.js'
import type { DurableInit, VolatileEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { durableEvent, PART_STARTED, TEXT_PART, volatileEvent, wordEvent } from '#test/support/session-event.ts'
import { EventHub, type HubItem } from './event-hub.ts'

const ENDED: DurableInit = { case: 'executionEnded', value: { outcome: Outcome.SUCCEEDED } }

/** A log that emits what a test gives it. */
function log() {
  const items: TailItem[] = []
  let wake = (): void => {}
  return {
    open: 0,
    getSession: async () => undefined,
    emit(...more: TailItem[]) {
      items.push(...more)
      wake()
    },
    async *tailEvents(_workspace: string, _position: string | undefined, signal: AbortSignal) {
      this.open++
      signal.addEventListener('abort', () => wake())
      try {
        while (!signal.aborted) {
          const item = items.shift()
          if (item !== undefined) yield item
          else
            await new Promise<void>((resolve) => {
              wake = resolve
            })
        }
      } finally {
        this.open--
      }
    },
  }
}

const ready: TailItem = { type: 'ready', position: 'log.0' }

function durable(seq: number, event?: DurableInit, sessionId?: string): TailItem {
  return { type: 'event', event: durableEvent(seq, event, { sessionId }) }
}

/** Reads words: numbers of durable events, texts of volatile ones, else the type. */
function reader(items: AsyncGenerator<HubItem>) {
  return async (count: number): Promise<unknown[]> => {
    const words: unknown[] = []
    for (let i = 0; i < count; i++) {
      const { value } = await items.next()
      if (value?.type === 'event') words.push(value.event.seq)
      else if (value?.type === 'volatile')
        words.push(value.event.event.case === 'partExtended' && value.event.event.value.delta)
      else words.push(value?.type)
    }
    return words
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a volatile event waits for the durable one that it follows, and comes before the next', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready)
  assert.deepEqual(await read(1), ['ready'])
  const mark = hub.mark()
  hub.publish([wordEvent(5, 'a'), wordEvent(5, 'b')], mark)
  hub.publish([wordEvent(6, 'c')], mark)
  tail.emit(durable(5))
  assert.deepEqual(await read(2), [5, 'ab'])
  tail.emit(durable(6), durable(7))
  assert.deepEqual(await read(3), [6, 'c', 7])
  stop.abort()
})

test('a session that waits does not hold back another', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready, durable(1, PART_STARTED, 'ses_2'))
  assert.deepEqual(await read(2), ['ready', 1])
  hub.publish([wordEvent(5, 'held'), wordEvent(1, 'free', 'ses_2')], hub.mark())
  assert.deepEqual(await read(1), ['free'])
  tail.emit(durable(5))
  assert.deepEqual(await read(2), [5, 'held'])
  stop.abort()
})

test('an event is sent at once when it follows another one from before the stream was open', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const before = hub.mark()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready)
  await read(1)
  hub.publish([wordEvent(5, 'a')], before)
  assert.deepEqual(await read(1), ['a'])
  stop.abort()
})

test('a second run of a session is ordered like the first', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready, durable(1), durable(2, ENDED))
  assert.deepEqual(await read(3), ['ready', 1, 2])
  hub.publish([wordEvent(9, 'a')], hub.mark())
  tail.emit(durable(9))
  assert.deepEqual(await read(2), [9, 'a'])
  stop.abort()
})

test('waits for no event after a gap', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready)
  await read(1)
  hub.publish([wordEvent(5, 'a')], hub.mark())
  tail.emit({ type: 'missed' })
  assert.deepEqual(await read(2), ['a', 'missed'])
  stop.abort()
})

test('notifies a subscriber that comes back of lost events only if they may have matched its filter', async () => {
  const lost = [
    { sessionId: 'ses_1', directory: '/project' },
    { sessionId: 'ses_2', directory: '/other' },
    { sessionId: 'ses_3', directory: '/other', deletion: create(SessionDeletedSchema, { ancestorIds: ['ses_0'] }) },
  ]
  for (const [filter, isFor] of [
    [{}, true],
    [{ sessionId: 'ses_1' }, true],
    [{ sessionId: 'ses_parent' }, true],
    [{ sessionId: 'ses_0' }, true],
    [{ sessionId: 'ses_4' }, false],
    [{ sessionId: 'ses_2', directory: '/project' }, false],
    [{ directory: '/elsewhere' }, true],
  ] as const) {
    const live = log()
    const behind = log()
    const getSession = async (_: string, id: string) =>
      ({ parentId: id === 'ses_2' ? 'ses_parent' : undefined }) as Session
    const tailEvents: ReturnType<typeof log>['tailEvents'] = (workspace, position, signal) =>
      (position === undefined ? live : behind).tailEvents(workspace, position, signal)
    const hub = new EventHub({ getSession, tailEvents })
    const stop = new AbortController()
    const read = reader(hub.subscribe('wrk_1', 'log.1', stop.signal, filter))
    live.emit({ type: 'ready', position: 'log.9' })
    behind.emit({ type: 'ready', position: 'log.1' }, { type: 'missed', lost }, { type: 'missed' })
    behind.emit({ type: 'caught-up', position: 'log.9' })
    const missed = isFor ? ['missed', 'missed'] : ['missed']
    const expected = ['ready', ...missed, 'caught-up']
    assert.deepEqual(await read(expected.length), expected, JSON.stringify(filter))
    stop.abort()
  }
})

test('20,000 waiting words are sent as one, in order, between the events around them', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready, durable(5))
  assert.deepEqual(await read(2), ['ready', 5])
  const words = Array.from({ length: 20_000 }, (_, i) => `${i} `)
  hub.publish(
    words.map((word) => wordEvent(5, word)),
    hub.mark(),
  )
  hub.publish([wordEvent(6, 'next')], hub.mark())
  tail.emit(durable(6))
  assert.deepEqual(await read(3), [words.join(''), 6, 'next'])
  stop.abort()
})

test('only adjacent words of the same part are joined', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready, durable(1), durable(1, PART_STARTED, 'ses_2'))
  assert.deepEqual(await read(3), ['ready', 1, 1])
  const thought = wordEvent(1, 'z', 'ses_1', { ...TEXT_PART, ordinal: 1 })
  const mark = hub.mark()
  hub.publish(
    [wordEvent(1, 'a'), wordEvent(1, 'A', 'ses_2'), wordEvent(1, 'b'), thought, wordEvent(1, 'B', 'ses_2')],
    mark,
  )
  hub.publish([wordEvent(1, 'c'), wordEvent(1, 'd')], mark)
  assert.deepEqual(await read(4), ['ab', 'AB', 'z', 'cd'])
  stop.abort()
})

test('only the last state of the waiting progress of a call is sent', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const items = hub.subscribe('wrk_1', undefined, stop.signal)
  tail.emit(ready, durable(1))
  assert.deepEqual(await reader(items)(2), ['ready', 1])
  const progress = (callId: string, lines: number): VolatileEvent =>
    volatileEvent(1, { case: 'toolProgressed', value: { messageId: 'msg_1', callId, metadata: { lines } } })
  hub.publish([progress('a', 1), progress('a', 2), progress('b', 3), progress('a', 4)], hub.mark())
  const received: unknown[] = []
  for (let i = 0; i < 3; i++) {
    const { value } = await items.next()
    if (value?.type === 'volatile' && value.event.event.case === 'toolProgressed') {
      const { callId, metadata } = value.event.event.value
      received.push([callId, metadata?.lines])
    }
  }
  assert.deepEqual(received, [
    ['a', 2],
    ['b', 3],
    ['a', 4],
  ])
  stop.abort()
})

test('a reader that reads nothing is cut off before it costs much memory, by events and by characters', async () => {
  const floods: VolatileEvent[][] = [
    Array.from({ length: 5_000 }, (_, i) => wordEvent(5, 'x', 'ses_1', { ...TEXT_PART, ordinal: i })),
    Array.from({ length: 300 }, () => wordEvent(5, 'x'.repeat(10_000))),
  ]
  for (const flood of floods) {
    const tail = log()
    const hub = new EventHub(tail)
    const items = hub.subscribe('wrk_1', undefined, new AbortController().signal)
    tail.emit(ready)
    await items.next()
    hub.publish(flood, hub.mark())
    await assert.rejects(items.next(), reasonOfRejection('EVENTS_OVERFLOWED'))
    await settle()
    assert.equal(tail.open, 0)
    assert.ok(!hub.hasListener('wrk_1'))
  }
})

test('an abort ends the stream and its tail, also while nobody pulls', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const items = hub.subscribe('wrk_1', undefined, stop.signal)
  tail.emit(ready)
  await items.next()
  assert.ok(hub.hasListener('wrk_1'))
  stop.abort()
  assert.ok(!hub.hasListener('wrk_1'))
  await settle()
  assert.equal(tail.open, 0)
  assert.equal((await items.next()).done, true)
})

test('leaving the stream ends its tail', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const items = hub.subscribe('wrk_1', undefined, new AbortController().signal)
  tail.emit(ready)
  await items.next()
  await items.return(undefined)
  await settle()
  assert.equal(tail.open, 0)
  assert.ok(!hub.hasListener('wrk_1'))
})
