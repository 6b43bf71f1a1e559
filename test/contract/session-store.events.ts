import assert from 'node:assert/strict'
import { PartRef_Kind as Kind } from '#gen/portico/session/v1/event_pb.js'
import { Delivery, Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import type { LogEvent } from '#services/session/domain/event.ts'
import { textResult } from '#services/session/domain/generation/call-outcome.ts'
import { stepPart } from '#test/support/step-part.ts'
import {
  acquire,
  admission,
  admit,
  assistant,
  begin,
  callIn,
  newSession,
  OTHER,
  plain,
  refusal,
  request,
  type StoreTest,
  toolPart,
  W,
} from './session-store.support.ts'
import { eventsOf, TailReader, tail } from './session-store.tail.ts'

/** The event log. */
export function eventCases(test: StoreTest): void {
  test('an event names its session, place, time and directory', async ({ store, clock }) => {
    const [event] = await eventsOf(store, 1, () => store.createSession(W, newSession()))
    assert.ok(event)
    const { eventId, position, ...rest } = event
    assert.match(eventId, /^evt_/)
    assert.notEqual(position, '')
    assert.deepEqual(
      plain(rest),
      plain({
        workspace: W,
        sessionId: 'ses_1',
        directory: '/project',
        createTime: clock.now(),
        seq: 1,
        event: { case: 'sessionCreated', value: { session: await store.getSession(W, 'ses_1') } },
      }),
    )
  })

  test('a reader without a position gets no earlier events', async ({ store }) => {
    await store.createSession(W, newSession())
    await new Promise((resolve) => setTimeout(resolve, 50))
    const [event] = await eventsOf(store, 1, () => admit(store, Delivery.STEER, 'msg_1'))
    assert.equal(event?.event.case, 'inboxEnqueued')
  })

  test('everything written after `ready` comes, in order, once', async ({ store }) => {
    const ids = Array.from({ length: 30 }, (_, i) => `ses_${i}`)
    const events = await eventsOf(store, ids.length, () =>
      Promise.all(ids.map((id) => store.createSession(W, newSession(id)))),
    )
    assert.equal(new Set(events.map(({ sessionId }) => sessionId)).size, ids.length)
    assert.equal(new Set(events.map(({ position }) => position)).size, ids.length)
  })

  test('the numbers of a session grow along the log', async ({ store }) => {
    await store.createSession(W, newSession())
    const ids = Array.from({ length: 40 }, (_, i) => `msg_${i}`)
    const events = await eventsOf(store, ids.length, () => Promise.all(ids.map((id) => store.admit(W, admission(id)))))
    const seqs = events.map(({ seq }) => seq)
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    )
    assert.deepEqual(
      events.map(({ event }) => event.case === 'inboxEnqueued' && event.value.item?.messageId),
      ids,
    )
  })

  test('a reader goes on after the position that it saw last', async ({ store }) => {
    const first = await eventsOf(store, 3, async () => {
      for (const id of ['ses_1', 'ses_2', 'ses_3']) await store.createSession(W, newSession(id))
    })
    await using reader = await tail(store, first[0]?.position)
    assert.deepEqual(plain(await reader.events(2)), plain(first.slice(1)))
    await store.createSession(W, newSession('ses_4'))
    assert.deepEqual(
      (await reader.events(1)).map(({ sessionId }) => sessionId),
      ['ses_4'],
    )
  })

  test('a reader that saw no event goes on from the position at which it started', async ({ store }) => {
    await store.createSession(W, newSession('ses_0'))
    const idle = new TailReader(store, undefined, W)
    const { position } = await idle.expect('ready')
    await idle[Symbol.asyncDispose]()
    await store.createSession(W, newSession('ses_1'))
    await using reader = await tail(store, position)
    assert.deepEqual(
      (await reader.events(1)).map(({ sessionId }) => sessionId),
      ['ses_1'],
    )
  })

  test('a reader with a position gets one notice that it has caught up; positions sort as their texts', async ({
    store,
  }) => {
    const ids = Array.from({ length: 120 }, (_, i) => `ses_${i}`)
    const events = await eventsOf(store, ids.length, () =>
      Promise.all(ids.map((id) => store.createSession(W, newSession(id)))),
    )
    const positions = events.map(({ position }) => position)
    assert.deepEqual(positions, positions.toSorted())
    await using reader = await tail(store, positions[9])
    const before = await reader.caughtUp()
    assert.deepEqual(plain(before.events), plain(events.slice(10)))
    assert.ok(before.position >= (positions.at(-1) ?? ''))
    await store.createSession(W, newSession('ses_later'))
    const [event] = await reader.events(1)
    assert.ok((event?.position ?? '') > before.position)
    await using current = await tail(store, event?.position)
    assert.deepEqual((await current.caughtUp()).events, [])
  })

  test('a position that was never issued is `missed`, and live events follow', async ({ store }) => {
    const [event] = await eventsOf(store, 1, () => store.createSession(W, newSession()))
    const { position } = event as { position: string }
    // Not written yet, by a number or by a time; and a malformed one.
    const forged = [/\d{15}$/, /(?<=^82)[0-9A-F]{8}/].map((part) =>
      position.replace(part, (old) => old.replaceAll(/./g, '9')),
    )
    const wrongs = ['', 'x', '99999999', `${position}0`, position.slice(1), '826900'.padEnd(100, '0'), ...forged]
    for (const wrong of new Set([...wrongs, position.toLowerCase()])) {
      if (wrong === position) continue
      await using reader = await tail(store, wrong)
      await reader.expect('missed')
      await store.createSession(W, newSession(`ses_${wrong}`))
      assert.deepEqual(
        (await reader.events(1)).map(({ sessionId }) => sessionId),
        [`ses_${wrong}`],
      )
    }
  })

  test('events of another workspace are not received', async ({ store }) => {
    await using reader = await tail(store)
    await store.createSession(OTHER, newSession('ses_theirs'))
    await store.createSession(W, newSession('ses_mine'))
    assert.deepEqual(
      (await reader.events(1)).map(({ sessionId }) => sessionId),
      ['ses_mine'],
    )
  })

  test('the signal ends a reader that waits, without an error', async ({ store }) => {
    const reader = await tail(store)
    const next = reader.next()
    reader.abort()
    assert.deepEqual(await next, { done: true, value: undefined })
    assert.deepEqual(await reader.next(), { done: true, value: undefined })
  })

  test('the signal ends a reader that has just caught up', async ({ store }) => {
    const { position } = await new TailReader(store).expect('ready')
    const reader = new TailReader(store, position)
    await reader.expect('ready')
    await reader.caughtUp()
    reader.abort()
    assert.deepEqual(await reader.next(), { done: true, value: undefined })
  })

  test('a signal that has aborted before ends the tail', async ({ store }) => {
    const reader = new TailReader(store)
    reader.abort()
    const items = [await reader.next(), await reader.next()]
    assert.deepEqual(items.at(-1), { done: true, value: undefined })
  })

  test('disposing the store ends its readers', async ({ store }) => {
    const reader = await tail(store)
    const next = reader.next()
    await store[Symbol.asyncDispose]()
    assert.deepEqual(await next, { done: true, value: undefined })
  })

  test('a slow reader misses nothing, and does not hold up others', async ({ store }) => {
    await store.createSession(W, newSession())
    await using slow = await tail(store)
    const ids = Array.from({ length: 120 }, (_, i) => `msg_${i}`)
    const fast = await eventsOf(store, ids.length, () => Promise.all(ids.map((id) => store.admit(W, admission(id)))))
    assert.deepEqual(plain(await slow.events(ids.length)), plain(fast))
  })
}

/** Notices of change. */
export function changeCases(test: StoreTest): void {
  test('a listener is notified of changes until it is disposed', async (fixture) => {
    const { store } = fixture
    const received: (readonly string[])[] = []
    const listener = store.onChange(({ workspace, sessionId, kinds }) => {
      if (workspace === W && sessionId === 'ses_1') received.push(kinds)
    })
    /** At once; the server may send the same notice again. */
    const expects = async (write: () => Promise<unknown>, ...kinds: readonly string[]): Promise<void> => {
      received.length = 0
      await write()
      for (const kind of kinds) assert.ok(received.flat().includes(kind), kind)
    }
    await store.createSession(W, newSession())
    await expects(() => admit(store, Delivery.STEER, 'msg_1'), 'run', 'work')
    const lease = await acquire(store, fixture.longMs)
    await expects(() => store.promote(lease, 'idle'), 'run')
    await expects(() => store.requestPermission(lease, request('per_1')), 'permission')
    const once = { reply: PermissionReply.ONCE, message: '' } as const
    await expects(() => store.replyPermission(W, 'ses_1', 'per_1', once), 'permission')
    await expects(() => store.requestInterrupt(W, 'ses_1'), 'interrupt')
    await admit(store, Delivery.QUEUE, 'msg_2')
    await expects(() => store.endRun(lease, Outcome.INTERRUPTED), 'interrupt', 'run', 'work')
    const next = await acquire(store, fixture.longMs)
    await expects(() => store.releaseLease(next), 'run', 'work')
    listener[Symbol.dispose]()
    received.length = 0
    await admit(store, Delivery.QUEUE, 'msg_3')
    assert.deepEqual(received, [])
  })

  test('the progress of a run notifies no waiting listener', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const received: unknown[] = []
    // A new listener is notified that anything may have changed.
    using _ = store.onChange((change) => change.sessionId !== undefined && received.push(change))
    for (let n = 0; n < 50; n++) {
      const message = assistant('msg_step', { parts: [stepPart('text', { text: `${n}` })] })
      await store.recordStep(lease, { message, events: [{ case: 'stepStreamed', value: { messageId: 'msg_step' } }] })
      await store.renewLease(lease, fixture.longMs)
    }
    assert.deepEqual(received, [])
  })
}

/** How much of the log is kept. */
export function retentionCases(test: StoreTest): void {
  test('the events of a session are read by its numbers, the same as by workspace', async (fixture) => {
    const { store, clock } = fixture
    await using reader = await tail(store)
    const lease = await begin(fixture)
    await store.createSession(W, newSession('ses_2'))
    const parts = [toolPart('call_1', 'completed', { content: [textResult('seen')] })]
    const message = assistant('msg_step', { parts, completeTime: clock.now() })
    const { content, metadata, input = {} } = callIn(parts[0])
    await store.recordStep(lease, {
      message,
      events: [
        { case: 'toolCalled', value: { messageId: 'msg_step', callId: 'call_1', input } },
        { case: 'toolSucceeded', value: { messageId: 'msg_step', callId: 'call_1', content, metadata } },
      ],
    })
    const all = await reader.events(7)
    const own = all.filter(({ sessionId }) => sessionId === 'ses_1').map(({ position: _, ...event }) => event)
    const { events, missed } = await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 100 })
    assert.equal(missed, false)
    assert.deepEqual(plain(events), plain(own))
    const [, second, third, fourth] = events
    const page = await store.listEvents(W, 'ses_1', { afterSeq: second?.seq ?? 0, limit: 2 })
    assert.deepEqual(plain(page), plain({ events: [third, fourth], missed: false }))
    await assert.rejects(
      store.listEvents(OTHER, 'ses_1', { afterSeq: 0, limit: 1 }),
      refusal('SESSION_NOT_FOUND', { session_id: 'ses_1' }),
    )
  })

  test('a page of the events of a session has few that are large, and the next ones follow', async ({ store }) => {
    await store.createSession(W, newSession())
    const text = 'x'.repeat(400_000)
    for (let i = 0; i < 40; i++) await store.admit(W, admission(`msg_${i}`, { text }))
    const read: number[] = []
    for (;;) {
      const { events } = await store.listEvents(W, 'ses_1', { afterSeq: read.at(-1) ?? 0, limit: 100 })
      if (events.length === 0) break
      assert.ok(events.length <= 8, `${events.length} at once`)
      read.push(...events.map(({ seq }) => seq))
    }
    assert.equal(read.length, 41)
    assert.deepEqual(
      read,
      [...new Set(read)].sort((a, b) => a - b),
    )
  })

  test('an event reads the same when a retried attempt has lost what it says', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    await using reader = await tail(store)
    const part = { messageId: 'msg_step', kind: Kind.TEXT, ordinal: 0 } as const
    const say = (text: string, attempt: number) =>
      store.recordStep(lease, {
        message: assistant('msg_step', { attempt, parts: [stepPart('text', { text })] }),
        events: [{ case: 'partEnded', value: { part, text } }],
      })
    await say('lost', 1)
    await store.recordStep(lease, { message: assistant('msg_step', { attempt: 2 }), events: [] })
    await say('kept', 2)
    clock.advance(1)
    await store.recordStep(lease, { message: assistant('msg_step', { attempt: 3 }), events: [] })
    const texts = (events: readonly LogEvent[]): unknown[] =>
      events.flatMap(({ event }) => (event.case === 'partEnded' ? [event.value.text] : []))
    assert.deepEqual(texts(await reader.events(2)), ['lost', 'kept'])
    const { events } = await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 100 })
    assert.deepEqual(texts(events), ['lost', 'kept'])
  })

  test('expired events of other workspaces cause no missed notice', async ({ store, clock }) => {
    await using live = await tail(store)
    const [own] = await eventsOf(store, 1, () => store.createSession(W, newSession()))
    await live.events(1)
    for (const id of ['ses_2', 'ses_3']) await store.createSession(OTHER, newSession(id))
    clock.advance(1_000)
    while ((await store.expireEvents(clock.now())) > 0);
    await using late = await tail(store, own?.position)
    await admit(store, Delivery.STEER, 'msg_1')
    for (const reader of [live, late]) {
      const [event] = await reader.events(1)
      assert.equal(event?.event.case, 'inboxEnqueued')
    }
  })

  test('events expire by age, and a position older than what is kept is answered `missed`', async ({
    store,
    clock,
  }) => {
    await using live = await tail(store)
    const [first] = await eventsOf(store, 1, () => store.createSession(W, newSession()))
    await live.events(1)
    await admit(store, Delivery.STEER, 'msg_1', 'msg_expired')
    await live.events(2)
    clock.advance(1_000)
    assert.equal(await store.expireEvents(clock.now() - 5_000), 0)
    const before = clock.now()
    await admit(store, Delivery.STEER, 'msg_2')
    const [second] = await live.events(1)
    assert.equal(await store.expireEvents(before), 3)
    const { events, missed } = await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 10 })
    assert.deepEqual([events.map(({ eventId }) => eventId), missed], [[second?.eventId], true])
    const rest = await store.listEvents(W, 'ses_1', { afterSeq: second?.seq ?? 0, limit: 10 })
    assert.deepEqual(rest, { events: [], missed: false })
    await using late = await tail(store, first?.position)
    await late.expect('missed')
    await using current = await tail(store, second?.position)
    await admit(store, Delivery.STEER, 'msg_3')
    for (const reader of [current, late, live]) {
      // A reader that has missed some may be given what is kept.
      const events = [...(await reader.events(1))]
      if (reader === late && events[0]?.eventId === second?.eventId) events.push(...(await reader.events(1)))
      const { event } = events.at(-1) as (typeof events)[0]
      assert.equal(event.case === 'inboxEnqueued' && event.value.item?.messageId, 'msg_3')
    }
  })
}
