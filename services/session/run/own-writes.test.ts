import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { admission, assistant, newSession, request, W } from '#test/contract/session-store.support.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { stepPart } from '#test/support/step-part.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { openMongoSessionStore } from '../adapters/mongo/session-store.ts'
import { openSqliteSessionStore } from '../adapters/sqlite/open-session-store.ts'
import type { MessageOf } from '../domain/message.ts'
import type { Lease } from '../ports/lease.ts'
import type { SessionStore } from '../ports/session-store.ts'
import { OwnedSession } from './owned-session.ts'
import { Scheduler } from './scheduler.ts'
import { SessionWatchers } from './session-watchers.ts'
import { Slots } from './slots.ts'
import type { Tenure } from './tenure.ts'

const HOUR_MS = 3_600_000
const WRITES = 50

/** Replicas over a store each, that look for nothing unless they are notified, and what they asked their stores. */
async function replicas(stores: readonly SessionStore[]) {
  await using opening = new AsyncDisposableStack()
  const calls: string[] = []
  const owners = new Map<Tenure, SessionStore>()
  const done = Promise.withResolvers<void>()
  for (const store of stores) {
    const counted = countCalls(store, calls)
    const watchers = opening.use(new SessionWatchers(counted, HOUR_MS))
    opening.use(
      new Scheduler({
        ...{ store: counted, watchers, clock: systemClock, logger: silentLogger, owner: 'own', leaseMs: HOUR_MS },
        ...{ slots: new Slots(10), maxOwned: 10, maxOwnedOfOne: 10, pollMs: HOUR_MS },
        drain: (tenure) => {
          owners.set(tenure, store)
          return done.promise
        },
      }),
    )
  }
  opening.defer(done.resolve)
  const resources = opening.move()
  return { calls, owners, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** A store whose calls are counted; that anything at all may have changed is not said. */
function countCalls(store: SessionStore, calls: string[]): SessionStore {
  return new Proxy(store, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target)
      if (typeof member !== 'function') return member
      if (key !== 'onChange') {
        return (...words: unknown[]) => {
          calls.push(String(key))
          return Reflect.apply(member, target, words)
        }
      }
      return (listener: Parameters<SessionStore['onChange']>[0]) =>
        target.onChange((change) => change.sessionId !== undefined && listener(change))
    },
  })
}

async function writesConcernNobody(stores: readonly SessionStore[]): Promise<void> {
  const store = withUseCases(stores[0] as SessionStore)
  await store.createSession('wrk_quiet', newSession())
  await store.admit('wrk_quiet', admission('msg_1'))
  const quiet = (await store.acquireLease('own_test', HOUR_MS)) as Lease
  await using fixture = await replicas(stores)
  const { calls, owners } = fixture
  await store.createSession(W, newSession())
  await store.admit(W, admission('msg_1'))
  await waitFor('the session to have an owner', () => owners.size === 1)
  const [[tenure, ownStore]] = [...owners] as [[Tenure, SessionStore]]
  const owned = new OwnedSession(ownStore, tenure)
  const begun: string[] = []
  const known = { messages: [], lastSeq: 0, bytes: 0, contextLength: undefined, limited: false, full: false }
  await new OwnedSession(countCalls(ownStore, begun), tenure).beginStep(known)
  assert.deepEqual(begun, ['revise'], 'a step begins with one call')
  const write = async (before: MessageOf<'assistant'> | undefined, text: string): Promise<MessageOf<'assistant'>> => {
    const message = assistant('msg_step', { parts: [stepPart('text', { text })] })
    await owned.recordStep(before, { message, events: [{ case: 'stepStreamed', value: { messageId: 'msg_step' } }] })
    return message
  }
  let before = await write(undefined, '')
  await allNotified(stores, quiet, 'per_before')
  calls.length = 0
  for (let n = 0; n < WRITES; n++) before = await write(before, `${n}`)
  await allNotified(stores, quiet, 'per_after')
  assert.equal(calls.join(), '')
  await store.requestInterrupt(W, 'ses_1')
  await waitFor('the interrupt to arrive', () => tenure.reason === 'interrupted')
  assert.ok(calls.includes('inspect'))
}

/** Writes until every store has notified of it: what was written before has been notified of, too. */
async function allNotified(stores: readonly SessionStore[], lease: Lease, requestId: string): Promise<void> {
  const notified = new Set<SessionStore>()
  await using listening = new AsyncDisposableStack()
  for (const store of stores) {
    const listener = store.onChange(({ workspace, kinds }) => {
      if (workspace === lease.workspace && kinds.includes('permission')) notified.add(store)
    })
    listening.defer(() => listener[Symbol.dispose]())
  }
  const { requestPermission } = withUseCases(stores[0] as SessionStore)
  // One that has just begun to follow the others does so from a moment on.
  for (let n = 0; notified.size < stores.length; n++) {
    await requestPermission(lease, request(`${requestId}_${n}`))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('the writes of a run cause no acquisition and no second read (SQLite)', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-writes-'))
  await using store = await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock: systemClock })
  await writesConcernNobody([store])
  await rm(directory, { recursive: true })
})

test('the writes of a run cause no acquisition and no second read on any of three replicas (MongoDB)', {
  skip: skipWithoutMongo,
}, async () => {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  const open = () => openMongoSessionStore({ mongo, clock: systemClock })
  await using opening = new AsyncDisposableStack()
  opening.defer(async () => void (await mongo.db.dropDatabase()))
  const stores = [opening.use(await open()), opening.use(await open()), opening.use(await open())]
  await writesConcernNobody(stores)
})
