import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outcome, type Session } from '#gen/portico/session/v1/session_pb.js'
import type { DurableEvent, DurableEventData, VolatileEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { EventHub, type HubItem } from './event-hub.ts'

const part = { messageId: 'msg_1', kind: 'text', ordinal: 0 } as const
const STEP: DurableEventData = { type: 'part-started', part }
const ENDED: DurableEventData = {
  type: 'execution-ended',
  outcome: Outcome.SUCCEEDED,
  error: undefined,
  reason: undefined,
}

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
const place = { workspace: 'wrk_1', directory: '/project', timeCreated: 0 }

function durable(seq: number, data = STEP, sessionId = 'ses_1'): TailItem {
  const event: DurableEvent = { ...place, id: `evt_${seq}`, sessionId, seq, position: String(seq), data }
  return { type: 'event', event }
}

function delta(afterSeq: number, text: string, sessionId = 'ses_1'): VolatileEvent {
  return { ...place, id: `evt_${text}`, sessionId, afterSeq, data: { type: 'part-extended', part, delta: text } }
}

/** Reads words: numbers of durable events, texts of volatile ones, else the type. */
function reader(items: AsyncGenerator<HubItem>) {
  return async (count: number): Promise<unknown[]> => {
    const words: unknown[] = []
    for (let i = 0; i < count; i++) {
      const { value } = await items.next()
      if (value?.type === 'event') words.push(value.event.seq)
      else if (value?.type === 'volatile')
        words.push(value.event.data.type === 'part-extended' && value.event.data.delta)
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
  hub.publish([delta(5, 'a'), delta(5, 'b')], mark)
  hub.publish([delta(6, 'c')], mark)
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
  tail.emit(ready, durable(1, STEP, 'ses_2'))
  assert.deepEqual(await read(2), ['ready', 1])
  hub.publish([delta(5, 'held'), delta(1, 'free', 'ses_2')], hub.mark())
  assert.deepEqual(await read(1), ['free'])
  tail.emit(durable(5))
  assert.deepEqual(await read(2), [5, 'held'])
  stop.abort()
})

test('what follows an event from before the stream was open is sent at once', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const before = hub.mark()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready)
  await read(1)
  hub.publish([delta(5, 'a')], before)
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
  hub.publish([delta(9, 'a')], hub.mark())
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
  hub.publish([delta(5, 'a')], hub.mark())
  tail.emit({ type: 'missed' })
  assert.deepEqual(await read(2), ['a', 'missed'])
  stop.abort()
})

test('notifies a subscriber that comes back of lost events only if they may have matched its filter', async () => {
  const lost = [
    { sessionId: 'ses_1', directory: '/project' },
    { sessionId: 'ses_2', directory: '/other' },
    { sessionId: 'ses_3', directory: '/other', data: { type: 'session-deleted', above: ['ses_0'] } as const },
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
    words.map((word) => delta(5, word)),
    hub.mark(),
  )
  hub.publish([delta(6, 'next')], hub.mark())
  tail.emit(durable(6))
  assert.deepEqual(await read(3), [words.join(''), 6, 'next'])
  stop.abort()
})

test('only neighbours of one part are joined', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const read = reader(hub.subscribe('wrk_1', undefined, stop.signal))
  tail.emit(ready, durable(1), durable(1, STEP, 'ses_2'))
  assert.deepEqual(await read(3), ['ready', 1, 1])
  const other = delta(1, 'z')
  const thought = { ...other, data: { ...other.data, part: { ...part, ordinal: 1 } } } as VolatileEvent
  const mark = hub.mark()
  hub.publish([delta(1, 'a'), delta(1, 'A', 'ses_2'), delta(1, 'b'), thought, delta(1, 'B', 'ses_2')], mark)
  hub.publish([delta(1, 'c'), delta(1, 'd')], mark)
  assert.deepEqual(await read(4), ['ab', 'AB', 'z', 'cd'])
  stop.abort()
})

test('of the waiting progress of one call only the last state is sent', async () => {
  const tail = log()
  const hub = new EventHub(tail)
  const stop = new AbortController()
  const items = hub.subscribe('wrk_1', undefined, stop.signal)
  tail.emit(ready, durable(1))
  assert.deepEqual(await reader(items)(2), ['ready', 1])
  const progress = (callId: string, lines: number): VolatileEvent => {
    const data = { type: 'tool-progressed', messageId: 'msg_1', callId, metadata: { lines } } as const
    return { ...place, id: 'evt_p', sessionId: 'ses_1', afterSeq: 1, data }
  }
  hub.publish([progress('a', 1), progress('a', 2), progress('b', 3), progress('a', 4)], hub.mark())
  const received: unknown[] = []
  for (let i = 0; i < 3; i++) {
    const { value } = await items.next()
    if (value?.type === 'volatile' && value.event.data.type === 'tool-progressed') {
      received.push([value.event.data.callId, value.event.data.metadata.lines])
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
    Array.from({ length: 5_000 }, (_, i) => {
      const event = delta(5, 'x')
      return { ...event, data: { ...event.data, part: { ...part, ordinal: i } } } as VolatileEvent
    }),
    Array.from({ length: 300 }, () => delta(5, 'x'.repeat(10_000))),
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
