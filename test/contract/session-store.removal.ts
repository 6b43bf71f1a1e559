import assert from 'node:assert/strict'
import type { InboxItem } from '#gen/portico/session/v1/session_pb.js'
import { Delivery, Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { type CreateSession, newSession as made } from '#services/session/domain/new-session.ts'
import type { Removal } from '#services/session/ports/session-removal.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import {
  acquire,
  admission,
  admit,
  assistant,
  begin,
  listed,
  messages,
  names,
  newSession,
  OTHER,
  plain,
  refusal,
  request,
  type StoreTest,
  toolPart,
  W,
} from './session-store.support.ts'
import { eventsOf, tail } from './session-store.tail.ts'

const HOUR_MS = 3_600_000

/** Works through all removals, and deletes what is left of each session. */
export async function finishRemovals(store: UseCases): Promise<Removal[]> {
  const done: Removal[] = []
  for (let next = await store.takeRemoval(HOUR_MS); next; next = await store.takeRemoval(HOUR_MS)) {
    while ((await store.removeBelow(next)).length > 0);
    while (await store.continueRemoval(next, HOUR_MS));
    await store.endRemoval(next)
    done.push(next)
  }
  return done
}

/** Creates a session from a staged one. */
export function fromStaged(id: string, title?: string, parentId?: string): CreateSession {
  return (now, newId, seq) => {
    const { session, revision } = made(newSession(id, { title }), now, newId, seq)
    return { session: { ...session, parentId }, revision }
  }
}

/** What a user said. */
export function textOf(item: InboxItem | undefined): string | undefined {
  return item?.payload.case === 'prompt' ? item.payload.value.text : undefined
}

/** How sessions are removed. */
export function removalCases(test: StoreTest): void {
  test('a removed session is gone from every read at once', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.recordStep(lease, {
      message: assistant('msg_step', { parts: [toolPart('call_1', 'running')] }),
      events: [],
    })
    await store.requestPermission(lease, request('per_1'))
    await admit(store, Delivery.QUEUE, 'msg_later')
    await store.removeSession(W, 'ses_1')
    assert.equal(await store.getSession(W, 'ses_1'), undefined)
    assert.deepEqual(await listed(store, {}), [])
    assert.equal(await store.listMessages(W, 'ses_1', { limit: 10, order: Order.ASCENDING }), undefined)
    assert.equal(await store.getMessage(W, 'ses_1', 'msg_first'), undefined)
    assert.deepEqual(await store.listPermissionRequests(W), [])
    assert.deepEqual(await store.listPermissionRequests(W, 'ses_1'), [])
    assert.deepEqual(await store.listActive(W), [])
    assert.equal(await store.acquireLease('own_2', HOUR_MS), undefined)
    const missing = refusal('SESSION_NOT_FOUND', { session_id: 'ses_1' })
    await assert.rejects(store.removeSession(W, 'ses_1'), missing)
    await assert.rejects(store.isBusy(W, 'ses_1'), missing)
    await assert.rejects(store.admit(W, admission('msg_2')), missing)
    await assert.rejects(store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 10 }), missing)
    await assert.rejects(store.removeSession(OTHER, 'ses_1'), missing)
  })

  test('the owner of a removed session has lost its lease', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await store.removeSession(W, 'ses_1')
    const lost = refusal('LEASE_LOST')
    await assert.rejects(store.renewLease(lease, longMs), lost)
    await assert.rejects(store.lastAdmitter(lease), lost)
    await assert.rejects(store.recordStep(lease, { message: assistant('msg_step'), events: [] }), lost)
    await assert.rejects(store.endRun(lease, Outcome.SUCCEEDED), lost)
  })

  test('only the event of a removed session stays, and nothing of others is removed', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const step = assistant('msg_step', { parts: [toolPart('call_1', 'running')] })
    await store.recordStep(lease, { message: step, events: [{ case: 'executionStarted', value: {} }] })
    await store.requestPermission(lease, request('per_1'))
    await store.replyPermission(W, 'ses_1', 'per_1', { reply: PermissionReply.ONCE, message: '' })
    await store.requestPermission(lease, request('per_2'))
    await admit(store, Delivery.STEER, 'msg_later')
    await store.createSession(W, newSession('ses_2'))
    await store.admit(W, admission('msg_2', { sessionId: 'ses_2' }))
    await store.createSession(OTHER, newSession())
    const before = await fixture.contents()
    const removal = await fixture.store.removeSession(W, 'ses_1')
    assert.deepEqual(removal.tools?.fence, lease.fence + 1)
    assert.deepEqual(removal.tools.admitter.apiKeyId, 'key_1')
    assert.deepEqual(plain(await finishRemovals(fixture.store)), [plain(removal)])
    const found = Object.entries(await fixture.contents())
    const left = found.flatMap(([table, rows]) => rows.map((row) => ({ table, row: JSON.stringify(row) })))
    const words = ['msg_first', 'msg_step', 'msg_later', 'per_1', 'per_2', 'call_1', 'README']
    assert.deepEqual(
      left.filter(({ row }) => words.some((word) => row.includes(word))),
      [],
    )
    const own = left.filter(({ row }) => row.includes('"ses_1"') && !row.includes(OTHER))
    assert.deepEqual(
      own.map(({ table }) => table),
      ['events'],
    )
    assert.match(own[0]?.row ?? '', /sessionDeleted/)
    const others = left.filter(({ row }) => row.includes('ses_2') || row.includes('msg_2') || row.includes(OTHER))
    const were = Object.values(before).flatMap((rows) => rows.map((row) => JSON.stringify(row)))
    assert.deepEqual(
      others.map(({ row }) => row).sort(),
      were.filter((row) => row.includes('ses_2') || row.includes('msg_2') || row.includes(OTHER)).sort(),
    )
    assert.ok(others.length >= 5)
  })

  test('a reader in the middle of a session that is removed comes to its end', async ({ store }) => {
    await store.createSession(W, newSession())
    await using reader = await tail(store)
    for (const id of ['msg_1', 'msg_2', 'msg_3']) await store.admit(W, admission(id))
    const [first] = await reader.events(1)
    assert.equal(first?.seq, 3)
    await store.removeSession(W, 'ses_1')
    await finishRemovals(store)
    await store.createSession(W, newSession('ses_2'))
    const types: string[] = []
    while (types.at(-1) !== 'sessionCreated') types.push(...(await reader.events(1)).map(({ event }) => event.case))
    assert.deepEqual(types, ['sessionDeleted', 'sessionCreated'])
  })

  test('a removal is taken by one process, and by another when its time is over', async ({
    store,
    shortMs,
    outlast,
  }) => {
    await store.createSession(W, newSession())
    assert.equal(await store.takeRemoval(HOUR_MS), undefined)
    await store.removeSession(W, 'ses_1')
    const first = await store.takeRemoval(shortMs)
    assert.equal(first?.sessionId, 'ses_1')
    assert.equal(await store.takeRemoval(HOUR_MS), undefined)
    await outlast()
    const second = await store.takeRemoval(HOUR_MS)
    assert.deepEqual(plain(second), plain(first))
    while (await store.continueRemoval(first, HOUR_MS));
    await store.endRemoval(first)
    assert.equal(second && (await store.continueRemoval(second, HOUR_MS)), false)
    await outlast()
    assert.equal(await store.takeRemoval(HOUR_MS), undefined)
  })

  test('a reader that resumes gets the event of the removal, and nothing else of the session', async (fixture) => {
    const { store } = fixture
    await using before = await tail(store)
    const [created] = await eventsOf(store, 1, () => store.createSession(W, newSession('ses_other')))
    await begin(fixture)
    await using live = await tail(store)
    await store.removeSession(W, 'ses_1')
    await store.selectAgent(W, 'ses_other', 'plan')
    // On MongoDB a process learns of a removal from its event, and a reader may be behind when it begins.
    for (let type = ''; type !== 'agentSelected'; ) type = (await live.events(1))[0]?.event.case ?? assert.fail()
    const expectRest = async (): Promise<void> => {
      await using reader = await tail(store, created?.position)
      const types = (await reader.events(2)).map(({ sessionId, event }) => [sessionId, event.case])
      assert.deepEqual(types, [
        ['ses_1', 'sessionDeleted'],
        ['ses_other', 'agentSelected'],
      ])
    }
    await expectRest()
    await finishRemovals(store)
    await expectRest()
    assert.equal((await before.events(1))[0]?.sessionId, 'ses_other')
  })

  test('the id of a removed session can be used again at once, and the new one has nothing of the old', async (fixture) => {
    const { store, longMs } = fixture
    const first = await begin(fixture)
    await store.recordStep(first, {
      message: assistant('msg_step', { parts: [toolPart('call_1', 'running')] }),
      events: [],
    })
    await store.requestPermission(first, request('per_1'))
    await admit(store, Delivery.QUEUE, 'msg_later')
    await store.removeSession(W, 'ses_1')
    for (const round of [1, 2]) {
      fixture.clock.advance(10)
      await store.createSession(W, newSession('ses_1', { title: `again ${round}` }))
      assert.deepEqual(await messages(store), [])
      assert.equal(await store.getMessage(W, 'ses_1', 'msg_first'), undefined)
      await admit(store, Delivery.STEER, 'msg_first', 'msg_step')
      const lease = await acquire(store, longMs)
      assert.ok(lease.fence > first.fence && !lease.unfinished)
      await assert.rejects(store.lastAdmitter(first), refusal('LEASE_LOST'))
      assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_first', 'msg_step'])
      assert.deepEqual(await store.listPermissionRequests(W), [])
      const { events, missed } = await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 100 })
      assert.deepEqual([missed, events[0]?.event.case, events.length], [false, 'sessionCreated', 6])
      if (round === 1) await store.removeSession(W, 'ses_1')
    }
    assert.equal((await finishRemovals(store)).length, 2)
    assert.deepEqual(names(await messages(store)), ['msg_first', 'msg_step'])
    assert.equal((await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 100 })).events.length, 6)
    const items = await listed(store, {})
    assert.deepEqual(
      items.map(({ title }) => title),
      ['again 2'],
    )
  })

  test('a new session under the id of a removed one continues its event numbers, however it is created', async (fixture) => {
    const { store } = fixture
    await store.createSession(OTHER, newSession())
    await store.createSession(W, newSession('ses_2'))
    await begin(fixture)
    const make = [
      () => store.createSession(W, newSession()),
      async () => {
        const staged = await store.stageSession(W, 'ses_1', 'import')
        await store.appendStaged(staged, [assistant('msg_imported', { completeTime: 2 })])
        await store.commitStaged(staged, fromStaged('ses_1'))
      },
    ]
    for (const again of [...make, ...make]) {
      const [deleted] = await eventsOf(store, 1, () => store.removeSession(W, 'ses_1'))
      assert.equal(deleted?.event.case, 'sessionDeleted')
      if (again === make[1]) await finishRemovals(store)
      await again()
      const imported = await messages(store)
      const { events, missed } = await store.listEvents(W, 'ses_1', { afterSeq: deleted.seq - 1, limit: 100 })
      assert.deepEqual([missed, events.map(({ event }) => event.case)], [false, ['sessionCreated']])
      const numbers = [deleted, ...imported, ...events].map(({ seq }) => seq)
      assert.deepEqual(
        numbers,
        numbers.map((_, i) => deleted.seq + i),
      )
    }
    await store.removeSession(W, 'ses_2')
    await store.createSession(W, newSession('ses_3'))
    assert.equal((await store.listEvents(W, 'ses_3', { afterSeq: 0, limit: 1 })).events[0]?.seq, 1)
  })

  test('the id of a removed session’s message can be used again at once, in another session', async (fixture) => {
    const { store } = fixture
    await begin(fixture)
    await store.createSession(W, newSession('ses_2'))
    await assert.rejects(store.admit(W, admission('msg_first', { sessionId: 'ses_2' })), refusal('PROMPT_CONFLICT'))
    await store.removeSession(W, 'ses_1')
    const again = await store.admit(W, admission('msg_first', { sessionId: 'ses_2', text: 'other' }))
    assert.deepEqual([again.sessionId, textOf(again)], ['ses_2', 'other'])
    await finishRemovals(store)
    assert.equal(textOf(await store.getInput(W, 'ses_2', 'msg_first')), 'other')
  })

  test('an unreadable session stays in lists, harms no other, and can be removed', async (fixture) => {
    const fields = ['model', 'tokens', 'costNanos', 'lastAdmitter', 'wake', 'metadata', 'permissions', 'fork']
    for (const [i, field] of fields.entries()) {
      fixture.clock.advance(1)
      await fixture.store.createSession(W, newSession(`ses_${i}`, { title: `The ${field}` }))
      // JSON as well, if it is not of the right form.
      await fixture.damage('sessions', `ses_${i}`, field, field === 'tokens' ? 'null' : undefined)
    }
    await fixture.store.createSession(W, newSession('ses_sound', { title: 'The sound one' }))
    const { store } = fixture
    const page = { limit: 50, order: Order.ASCENDING } as const
    for (const query of [page, { ...page, search: 'h' }, { ...page, search: 'the' }]) {
      const found = (await Array.fromAsync(store.listSessions(W, query))).flat()
      assert.deepEqual(
        found.map((item) => [item.sessionId, 'unreadable' in item]),
        [...fields.map((field, i) => [`ses_${i}`, !['lastAdmitter', 'wake'].includes(field)]), ['ses_sound', false]],
      )
    }
    await assert.rejects(store.getSession(W, 'ses_0'), SyntaxError)
    for (const i of fields.keys()) await store.removeSession(W, `ses_${i}`)
    assert.deepEqual(
      (await listed(store, {})).map(({ sessionId }) => sessionId),
      ['ses_sound'],
    )
    assert.equal((await finishRemovals(store)).length, fields.length)
  })

  test('the parent of a session that cannot be read is known', async (fixture) => {
    await fixture.store.createSession(W, newSession())
    await fixture.store.createSession(W, newSession('ses_2'), 'ses_1')
    await fixture.damage('sessions', 'ses_2', 'tokens')
    const parents = ['ses_1', 'ses_2', 'ses_none'].map((id) => fixture.store.parentOf(W, id))
    assert.deepEqual(await Promise.all(parents), [undefined, 'ses_1', undefined])
  })

  test('a listener that waits for the session is notified', async ({ store }) => {
    await store.createSession(W, newSession())
    const seen: string[] = []
    using _ = store.onChange(({ sessionId, kinds }) => sessionId === 'ses_1' && seen.push(...kinds))
    await store.removeSession(W, 'ses_1')
    assert.deepEqual([...new Set(seen)].sort(), ['interrupt', 'permission', 'run', 'work'])
  })
}
