import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { DurableEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { durableEvent, wordEvent } from '#test/support/session-event.ts'
import { type EventFilter, EventHub, type HubItem } from './event-hub.ts'

const position = (n: number): string => String(1_000 + n)

/** A log that readers tail from wherever they say, and whose sessions have parents. */
class Log {
  opened = 0
  open = 0
  reads = 0
  readonly parents: Record<string, string> = {}
  readonly #events: DurableEvent[] = []
  #wake: (() => void)[] = []

  write(sessionId = 'ses_1', directory = '/project'): void {
    const n = this.#events.length + 1
    this.#events.push(durableEvent(n, undefined, { sessionId, directory, position: position(n) }))
    for (const wake of this.#wake.splice(0)) wake()
  }

  async getSession(_: string, id: string): Promise<Session | undefined> {
    this.reads++
    return { parentId: this.parents[id] } as Session
  }

  async *tailEvents(_: string, after: string | undefined, signal: AbortSignal): AsyncGenerator<TailItem> {
    this.opened++
    this.open++
    signal.addEventListener('abort', () => {
      for (const wake of this.#wake.splice(0)) wake()
    })
    let next = after === undefined ? this.#events.length : Number(after) - 1_000
    let behind = after !== undefined
    try {
      yield { type: 'ready', position: position(next) }
      while (!signal.aborted) {
        const event = this.#events[next]
        if (event !== undefined) {
          next++
          yield { type: 'event', event }
        } else if (behind) {
          behind = false
          yield { type: 'caught-up', position: position(next) }
        } else await new Promise<void>((resolve) => this.#wake.push(resolve))
      }
    } finally {
      this.open--
    }
  }
}

/** Reads words: ids of durable events, texts of volatile ones, else the type. */
function wordsOf(items: AsyncGenerator<HubItem>) {
  return async (count: number): Promise<unknown[]> => {
    const words: unknown[] = []
    while (words.length < count) {
      const { value } = await items.next()
      if (value?.type === 'event') words.push(value.event.eventId)
      else if (value?.type === 'volatile')
        words.push(value.event.event.case === 'partExtended' && value.event.event.value.delta)
      else words.push(value?.type)
    }
    return words
  }
}

function open() {
  const log = new Log()
  const hub = new EventHub(log)
  const stop = new AbortController()
  const subscribe = (after?: number, filter?: EventFilter) =>
    wordsOf(hub.subscribe('wrk_1', after === undefined ? undefined : position(after), stop.signal, filter))
  return { log, hub, stop, subscribe }
}

test('the log is read once for a hundred subscribers, and closed when the last one leaves', async () => {
  const { log, hub, stop, subscribe } = open()
  const all = Array.from({ length: 100 }, () => subscribe())
  for (const words of all) assert.deepEqual(await words(1), ['ready'])
  log.write()
  log.write()
  for (const words of all) assert.deepEqual(await words(2), ['evt_1', 'evt_2'])
  assert.deepEqual([log.opened, log.reads], [1, 1])
  assert.ok(hub.hasListener('wrk_1'))
  stop.abort()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([log.open, hub.hasListener('wrk_1')], [0, false])
})

test('a subscriber that comes back reads what it missed by itself, then goes on with the others, and misses nothing', async () => {
  const { log, hub, subscribe } = open()
  for (let n = 0; n < 20; n++) log.write()
  const live = subscribe()
  await live(1)
  const back = subscribe(5)
  assert.deepEqual(await back(3), ['ready', 'evt_6', 'evt_7'])
  // What happens while it reads the past: the volatile part is not for it.
  log.write()
  hub.publish([wordEvent(21, 'early')], hub.mark())
  assert.deepEqual(await live(2), ['evt_21', 'early'])
  const past = Array.from({ length: 14 }, (_, n) => `evt_${n + 8}`)
  assert.deepEqual(await back(15), [...past, 'caught-up'])
  const [one, other] = [live(2), back(2)]
  log.write()
  hub.publish([wordEvent(22, 'late')], hub.mark())
  assert.deepEqual(
    [await one, await other],
    [
      ['evt_22', 'late'],
      ['evt_22', 'late'],
    ],
  )
  assert.equal(log.open, 1)
})

test('a subscriber that comes back soon needs no reading of its own', async () => {
  const { log, subscribe } = open()
  const live = subscribe()
  await live(1)
  for (let n = 0; n < 5; n++) log.write()
  await live(5)
  assert.deepEqual(await subscribe(3)(4), ['ready', 'caught-up', 'evt_4', 'evt_5'])
  assert.equal(log.opened, 1)
})

test('a filter admits a session with all sessions below it, whenever they were created, or a directory', async () => {
  const { log, hub, subscribe } = open()
  Object.assign(log.parents, { ses_child: 'ses_top', ses_grandchild: 'ses_child', ses_other: 'ses_else' })
  const filters: EventFilter[] = [
    { sessionId: 'ses_top' },
    { directory: '/there' },
    { sessionId: 'ses_top', directory: '/there' },
    { sessionId: 'ses_nobody' },
  ]
  for (const session of ['ses_grandchild', 'ses_other']) log.write(session)
  const past = subscribe(0, filters[0])
  assert.deepEqual(await past(3), ['ready', 'evt_1', 'caught-up'])
  const live = filters.map((filter) => subscribe(undefined, filter))
  for (const words of live) await words(1)
  const next = [past(5), ...live.map((words, i) => words([5, 2, 1, 1][i] ?? 0))]
  log.write('ses_top')
  log.write('ses_child', '/there')
  log.write('ses_other', '/there')
  log.parents.ses_later = 'ses_child'
  log.write('ses_later')
  hub.publish([wordEvent(6, 'a', 'ses_later'), wordEvent(6, 'b', 'ses_other')], hub.mark())
  log.write('ses_grandchild')
  const [, , , nothing] = next.slice(1)
  assert.deepEqual(await Promise.all(next.slice(0, 4)), [
    ['evt_3', 'evt_4', 'evt_6', 'a', 'evt_7'],
    ['evt_3', 'evt_4', 'evt_6', 'a', 'evt_7'],
    ['evt_4', 'evt_5'],
    ['evt_4'],
  ])
  log.parents.ses_new = 'ses_nobody'
  log.write('ses_new')
  assert.deepEqual(await nothing, ['evt_8'])
})

test('a subscriber that reads nothing is cut off, and holds up nobody', async () => {
  const { log, subscribe } = open()
  const [fast, slow] = [subscribe(), subscribe()]
  await Promise.all([fast(1), slow(1)])
  for (let n = 1; n <= 10_000; n++) {
    log.write()
    assert.deepEqual(await fast(1), [`evt_${n}`])
  }
  await assert.rejects(slow(1), reasonOfRejection('EVENTS_OVERFLOWED'))
  log.write()
  assert.deepEqual(await fast(1), ['evt_10001'])
})
