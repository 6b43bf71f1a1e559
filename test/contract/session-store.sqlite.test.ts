import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { messageOf } from '#services/session/domain/message.ts'
import { readTables } from '#test/support/read-stores.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { finishRemovals, fromStaged } from './session-store.removal.ts'
import { sessionStoreSuite } from './session-store.suite.ts'
import {
  acquire,
  admission,
  admit,
  begin,
  ManualClock,
  newSession,
  OTHER,
  refusal,
  type StoreFixture,
  W,
} from './session-store.support.ts'
import { eventsOf, TailReader, tail } from './session-store.tail.ts'

interface FileFixture extends StoreFixture {
  reopen(park?: boolean): Promise<void>
  /** How SQLite would run these statements; reopens the store. */
  plansOf(statements: readonly string[]): Promise<string[][]>
}

async function open(): Promise<FileFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-sessions-'))
  const path = join(directory, 'session.sqlite')
  const clock = new ManualClock()
  let store = withUseCases(await openSqliteSessionStore({ path, clock }))
  return {
    get store() {
      return store
    },
    clock,
    longMs: 60_000,
    shortMs: 1_000,
    async outlast() {
      clock.advance(1_000)
    },
    async contents() {
      await store[Symbol.asyncDispose]()
      const found = withWorkspaces(readTables(path))
      store = withUseCases(await openSqliteSessionStore({ path, clock }))
      return found
    },
    async damage(records, id, field, text = '{') {
      await store[Symbol.asyncDispose]()
      const database = new DatabaseSync(path)
      database
        .prepare(`UPDATE ${records} SET ${field} = ? WHERE ${records === 'sessions' ? 'sessionId' : 'id'} = ?`)
        .run(text, id)
      database.close()
      store = withUseCases(await openSqliteSessionStore({ path, clock }))
    },
    async reopen(park = false) {
      await store[Symbol.asyncDispose]()
      store = withUseCases(await openSqliteSessionStore({ path, clock, park }))
    },
    async plansOf(statements) {
      await store[Symbol.asyncDispose]()
      const database = new DatabaseSync(path)
      const plans = statements.map((sql) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
      database.close()
      store = withUseCases(await openSqliteSessionStore({ path, clock }))
      return plans.map((plan) => plan.map(({ detail }) => String(detail)))
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

type Tables = ReturnType<typeof readTables>

/** Rows that refer to a workspace by number now refer to it by id. */
function withWorkspaces(tables: Tables): Tables {
  const workspaces = tables.workspaces as readonly { readonly number: number; readonly id: string }[]
  const ids = new Map<unknown, string>(workspaces.map(({ number, id }) => [number, id]))
  const events = (tables.events ?? []) as readonly { readonly workspace: number }[]
  return { ...tables, events: events.map((row) => ({ ...row, workspace: ids.get(row.workspace) })) }
}

sessionStoreSuite('SQLite', open)

test('opening a file voids its leases, so that work goes on at once', async () => {
  await using fixture = await open()
  const lease = await begin(fixture)
  await fixture.reopen()
  assert.deepEqual(await fixture.store.listActive(W), [])
  await assert.rejects(fixture.store.promote(lease, 'step'), refusal('LEASE_LOST'))
  const next = await acquire(fixture.store, fixture.longMs)
  assert.deepEqual([next.sessionId, next.unfinished, next.fence > lease.fence], ['ses_1', true, true])
})

test('no reader is shown the position of an event that was never committed, since another event will get it', async (context) => {
  await using fixture = await open()
  await fixture.store.createSession(W, newSession())
  const { run } = StatementSync.prototype
  const failing = context.mock.method(
    StatementSync.prototype,
    'run',
    function (this: StatementSync, ...values: never[]) {
      if (this.sourceSQL === 'COMMIT') throw new Error('The disk is full')
      return Reflect.apply(run, this, values)
    },
  )
  for (let tries = 0; tries < 3; tries++) await assert.rejects(fixture.store.selectAgent(W, 'ses_1', 'lost'), /full/)
  failing.mock.restore()
  const before = await new TailReader(fixture.store).expect('ready')
  await fixture.reopen()
  for (const agent of ['a', 'b', 'c', 'd']) await fixture.store.selectAgent(W, 'ses_1', agent)
  await using reader = new TailReader(fixture.store, before.position)
  await reader.expect('ready')
  const agents = (await reader.events(4)).map(({ event }) => event.case === 'agentSelected' && event.value.agent)
  assert.deepEqual(agents, ['a', 'b', 'c', 'd'])
})

test('opening a file parks waiting inputs if asked to, and leaves a begun run for its next owner', async () => {
  await using fixture = await open()
  await begin(fixture)
  await fixture.store.createSession(W, newSession('ses_2'))
  await fixture.store.admit(W, admission('msg_2', { sessionId: 'ses_2' }))
  await fixture.reopen(true)
  const next = await acquire(fixture.store, fixture.longMs)
  assert.deepEqual([next.sessionId, next.unfinished], ['ses_1', true])
  assert.equal(await fixture.store.acquireLease('own_2', fixture.longMs), undefined)
})

test('opening a file reads no table from end to end that grows with the sessions', async (context) => {
  await using fixture = await open()
  await begin(fixture)
  const read = new Set<string>()
  for (const method of ['get', 'all', 'iterate'] as const) {
    const original = StatementSync.prototype[method]
    context.mock.method(StatementSync.prototype, method, function (this: StatementSync, ...values: never[]) {
      read.add(this.sourceSQL)
      return Reflect.apply(original, this, values)
    })
  }
  await fixture.reopen(true)
  await fixture.reopen()
  context.mock.restoreAll()
  const plans = await fixture.plansOf([...read].filter((sql) => /^SELECT/.test(sql)))
  const grows = /^(sessions|events|inbox|messages|parts|title\w+)\b/
  const scans = plans.flatMap((plan) => plan.flatMap((step) => step.match(/^SCAN (.*)/)?.[1] ?? []))
  const large = scans.filter((scan) => grows.test(scan))
  // It has only those that are leased.
  assert.deepEqual(new Set(large), new Set(['sessions USING INDEX sessionsLeased']))
})

test('positions hold across a restart, and one of another file is not taken for its own', async () => {
  await using fixture = await open()
  const [event] = await eventsOf(fixture.store, 1, () => fixture.store.createSession(W, newSession()))
  await fixture.reopen()
  await admit(fixture.store, Delivery.STEER, 'msg_1')
  await using reader = await tail(fixture.store, event?.position)
  assert.equal((await reader.events(1))[0]?.event.case, 'inboxEnqueued')
  await using other = await open()
  await other.store.createSession(W, newSession())
  await using outsider = await tail(other.store, event?.position)
  await outsider.expect('missed')
})

test('positions go on after a restart, whichever workspace wrote last', async () => {
  await using fixture = await open()
  const workspaces = ['wrk_A', W, 'wrk_Z']
  for (const count of [1, 2, 3]) {
    for (const workspace of workspaces.slice(0, count)) {
      await fixture.store.createSession(workspace, newSession(`ses_${count}`))
    }
    await fixture.reopen()
  }
  await using reader = await tail(fixture.store, undefined)
  for (const workspace of workspaces) await fixture.store.createSession(workspace, newSession('ses_4'))
  const [event] = await reader.events(1)
  assert.match(event?.position ?? '', /\.0{14}8$/)
})

test('a reader of a long log lets others work', async () => {
  await using fixture = await open()
  const { store } = fixture
  await using before = new TailReader(store)
  const { position } = await before.expect('ready')
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => store.createSession(W, newSession(`ses_${i}`))))
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  await using reader = await tail(store, position)
  await reader.events(1_000)
  clearImmediate(next)
  assert.ok(turns >= 9, `${turns} turns of the event loop`)
})

test('a restart finishes an interrupted removal, and removes a staged session', async () => {
  await using fixture = await open()
  await begin(fixture)
  await fixture.store.createSession(W, newSession('ses_child'), 'ses_1')
  await fixture.store.removeSession(W, 'ses_1')
  await fixture.store.takeRemoval(3_600_000)
  const staged = await fixture.store.stageSession(W, 'ses_2', 'import')
  await fixture.store.appendStaged(staged, [messageOf({ messageId: 'msg_staged', createTime: 1 }, 'user', {})])
  await fixture.reopen()
  await assert.rejects(fixture.store.commitStaged(staged, fromStaged('ses_2')), refusal('STORE_UNAVAILABLE'))
  await fixture.store.createSession(W, newSession('ses_3'))
  const removed = (await finishRemovals(fixture.store)).map(({ sessionId, tools }) => [sessionId, tools !== undefined])
  assert.deepEqual(removed.sort(), [
    ['ses_1', true],
    ['ses_2', false],
    ['ses_child', false],
  ])
  const tables = await fixture.contents()
  assert.deepEqual([tables.messages, tables.inbox, tables.hiddenSessions], [[], [], []])
  assert.equal((await fixture.store.getSession(W, 'ses_3'))?.sessionId, 'ses_3')
})

test('events expire in small portions, in each workspace, until none is left', async () => {
  await using fixture = await open()
  const { store, clock } = fixture
  const workspaces = [W, OTHER, 'wrk_third']
  const write = (prefix: string): Promise<unknown> =>
    Promise.all(
      workspaces.flatMap((workspace) =>
        Array.from({ length: 700 }, (_, i) => store.createSession(workspace, newSession(`ses_${prefix}${i}`))),
      ),
    )
  await write('old')
  clock.advance(1_000)
  const before = clock.now()
  await store.createSession(OTHER, newSession('ses_new'))
  const portions: number[] = []
  for (let count = -1; count !== 0; portions.push(count)) count = await store.expireEvents(before)
  assert.equal(
    portions.reduce((sum, count) => sum + count, 0),
    2_100,
  )
  assert.ok(Math.max(...portions) <= 500, `${portions}`)
  const { events } = await store.listEvents(OTHER, 'ses_new', { afterSeq: 0, limit: 10 })
  assert.equal(events.length, 1)
})
