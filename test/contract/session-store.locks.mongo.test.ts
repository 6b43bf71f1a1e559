import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { pino } from 'pino'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { selectAgent } from '#services/session/domain/selection.ts'
import { systemClock } from '#shared/clock.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { StoreWatch } from '#shared/stores/store-watch.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { waitUntil } from '#test/support/wait-until.ts'
import { acquire, admission, admit, ManualClock, newSession, W } from './session-store.support.ts'

/**
 * Two stores on one database, as two processes have them, with the limits of the product rather than of a test run,
 * unless the test asks for patience.
 */
async function open(patience = '') {
  await using opening = new AsyncDisposableStack()
  const [server] = (mongoUri() ?? '').split('?')
  const uri = `${server}?replicaSet=${new URLSearchParams((mongoUri() ?? '').split('?')[1]).get('replicaSet')}${patience}`
  const database = freshDatabaseName()
  const mongo: Mongo = opening.use(await openMongo({ uri, database }))
  opening.defer(async () => {
    await mongo.db.dropDatabase()
  })
  const clock = new ManualClock()
  const stores = [
    withUseCases(opening.use(await openMongoSessionStore({ mongo, clock }))),
    withUseCases(opening.use(await openMongoSessionStore({ mongo, clock }))),
  ] as const
  const resources = opening.move()
  return { uri, database, mongo, stores, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

// Each has a database of its own, and waits most of its time.
suite('a record that an open transaction has written', { skip: skipWithoutMongo, concurrency: true }, () => {
  test('does not block other sessions on any replica; a write of it is refused in time, and works when the lock is gone', async () => {
    await using fixture = await open()
    const { stores, uri, database } = fixture
    const [store, second] = stores
    for (const id of ['ses_1', 'ses_2', 'ses_3']) {
      await store.createSession(W, newSession(id))
      await store.admit(W, admission(`msg_${id}`, { sessionId: id }))
    }
    // A client of another name, whose transactions nobody here may end.
    await using client = await new MongoClient(uri).connect()
    const session = client.startSession()
    session.startTransaction()
    const sessions = client.db(database).collection<{ _id: string }>('sessions')
    await sessions.updateOne({ _id: `${W}/ses_1` }, { $inc: { version: 1 } }, { session })

    const leases = [await acquire(store, 3_600_000, 'own_1'), await acquire(second, 3_600_000, 'own_2')]
    assert.deepEqual(leases.map(({ sessionId }) => sessionId).toSorted(), ['ses_2', 'ses_3'])
    assert.equal(await store.acquireLease('own_1', 60_000), undefined, 'the locked session, the oldest, is passed over')
    await assert.rejects(store.admit(W, admission('msg_late')), (error: Error) => {
      return fixture.mongo.problemOf(error)?.kind === 'away'
    })
    // It still holds its lock.
    await sessions.findOne({ _id: `${W}/ses_1` }, { session })
    await session.abortTransaction()
    await session.endSession()
    await admit(store, Delivery.STEER, 'msg_later')
    const lease = await waitUntil('the lease to be available', () => second.acquireLease('own_2', 60_000))
    assert.equal(lease.sessionId, 'ses_1')
  })

  test('is no reason to suspect the store, and causes no line of the log', async () => {
    await using fixture = await open()
    const { mongo, stores, uri, database } = fixture
    const lines: string[] = []
    let probes = 0
    using watch = new StoreWatch({
      // The limit of the driver comes first, however slow the machine is.
      ...{ name: 'session', clock: systemClock, problemOf: mongo.problemOf, limitMs: 600_000, probeMs: 50 },
      logger: pino({ base: null }, { write: (line: string) => void lines.push(line) }),
      async probe() {
        await stores[0].probe()
        probes++
      },
    })
    const store = storePort(stores[0], watch, { writes: ['admit'] })
    await store.createSession(W, newSession())
    await using client = await new MongoClient(uri).connect()
    const session = client.startSession()
    session.startTransaction()
    const sessions = client.db(database).collection<{ _id: string }>('sessions')
    await sessions.updateOne({ _id: `${W}/ses_1` }, { $inc: { version: 1 } }, { session })
    await assert.rejects(store.admit(W, admission('msg_1')), { reason: 'STORE_UNAVAILABLE' })
    const seen = probes
    await waitUntil('the store is looked at again', async () => probes > seen + 2 || undefined)
    assert.deepEqual(lines, [])
    await session.abortTransaction()
    await session.endSession()
    await store.admit(W, admission('msg_2'))
  })

  test('is written by a patient write when the process of the transaction is gone', async () => {
    await using fixture = await open()
    const { uri, database, stores } = fixture
    await stores[0].createSession(W, newSession())
    // It has the same name as another process of this database, and does nothing more.
    await using gone = await new MongoClient(uri, { appName: `portico/${database}` }).connect()
    const session = gone.startSession()
    session.startTransaction()
    const sessions = gone.db(database).collection<{ _id: string }>('sessions')
    const write = () => sessions.updateOne({ _id: `${W}/ses_1` }, { $inc: { version: 1 } }, { session })
    await lasting(gone, 3_600, write)
    // The server itself would keep the lock for longer.
    await using patient = await openMongo({ uri: `${uri}&serverSelectionTimeoutMS=600000`, database })
    await patient.transact(async (own) => {
      await patient.db
        .collection<{ _id: string }>('sessions')
        .updateOne({ _id: `${W}/ses_1` }, { $inc: { version: 1 } }, { session: own })
    })
  })

  test('is written by all processes in the end when several write it all the time', async () => {
    await using fixture = await open('&serverSelectionTimeoutMS=600000')
    const [store] = fixture.stores
    await store.createSession(W, newSession())
    await Promise.all(
      fixture.stores.map(async (one, writer) => {
        for (let n = 0; n < 15; n++) await one.admit(W, admission(`msg_${writer}_${n}`))
      }),
    )
  })

  test('is written by many at once, and claimed, while another process writes it all the time', async () => {
    await using fixture = await open('&serverSelectionTimeoutMS=600000')
    const [store] = fixture.stores
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_due')
    let writing = true
    const sessions = fixture.mongo.db.collection<{ _id: string }>('sessions')
    const others = (async () => {
      for (; writing; await delay(2)) await sessions.updateOne({ _id: `${W}/ses_1` }, { $inc: { version: 1 } })
    })()
    const key = { workspace: W, sessionId: 'ses_1' }
    // Together they take far longer than any write of the others.
    const writeSlowly = (n: number) =>
      store.revise(
        key,
        () => delay(10),
        (revision) => selectAgent(revision, `agent-${n}`),
      )
    try {
      await Promise.all(Array.from({ length: 60 }, (_, n) => writeSlowly(n)))
      let claimed = false
      const busy = Array.from({ length: 60 }, async (_, n) => {
        while (!claimed) await writeSlowly(n)
      })
      const lease = await waitUntil('the session is claimed', () => store.acquireLease('own_1', 60_000)).finally(() => {
        claimed = true
      })
      assert.equal(lease.sessionId, 'ses_1')
      await Promise.all(busy)
    } finally {
      writing = false
      await others
    }
  })

  test('does not block sessions that come later, however many such records there are', async (t) => {
    const warnings: string[] = []
    const note = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', note)
    t.after(() => process.off('warning', note))
    await using fixture = await open()
    const { stores, uri, database } = fixture
    const [store, second] = stores
    const begin = async (id: string) => {
      await store.createSession(W, newSession(id))
      await store.admit(W, admission(`msg_${id}`, { sessionId: id }))
    }
    // More than are examined at once, several times over.
    const ids = Array.from({ length: 70 }, (_, i) => `ses_locked${i}`)
    for (const id of ids) await begin(id)
    await using client = await new MongoClient(uri).connect()
    const session = client.startSession()
    session.startTransaction()
    const sessions = client.db(database).collection<{ _id: string }>('sessions')
    await lasting(client, 3_600, () =>
      sessions.updateMany({ _id: { $in: ids.map((id) => `${W}/${id}`) } }, { $inc: { version: 1 } }, { session }),
    )

    assert.equal(await store.acquireLease('own_1', 60_000), undefined)
    for (let n = 0; n < 10; n++) {
      await begin(`ses_${n}`)
      const lease = await acquire(n % 2 === 0 ? store : second, 3_600_000, 'own_1')
      assert.equal(lease.sessionId, `ses_${n}`)
      // The transaction still goes on, so nothing has waited for its end.
      await sessions.findOne({ _id: `${W}/ses_${n}` }, { session })
    }
    await session.abortTransaction()
    await session.endSession()
    const had: string[] = []
    await waitUntil('every lease to be available', async () => {
      const lease = await second.acquireLease('own_2', 60_000)
      if (lease !== undefined) had.push(lease.sessionId)
      return had.length === ids.length || undefined
    })
    assert.deepEqual(had.toSorted(), ids.toSorted())
    assert.deepEqual(warnings, [], 'no time is waited for that is over')
  })

  test('is available soon after the process that wrote it was killed', async () => {
    await using fixture = await open()
    const { stores, uri, database } = fixture
    const [store] = stores
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1')
    const killed = `
      import { openMongo } from '#shared/stores/mongo.ts'
      const mongo = await openMongo(${JSON.stringify({ uri, database })})
      await mongo.transact(async (session) => {
        await mongo.db.collection('sessions').updateOne({ _id: '${W}/ses_1' }, { $inc: { version: 1 } }, { session })
        process.stdout.write('written')
        await new Promise((resolve) => setTimeout(resolve, 1_000_000))
      }, 1_000_000)`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', killed], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await using client = await new MongoClient(uri).connect()
    await lasting(client, 3_600, () => once(child.stdout, 'data'))
    child.kill('SIGKILL')
    await once(child, 'exit')

    assert.equal(await store.acquireLease('own_1', 60_000), undefined)
    // The server itself would keep the lock for an hour.
    await waitUntil('the lease to be available', () => store.acquireLease('own_1', 60_000))
  })
})

let turn: Promise<unknown> = Promise.resolve()

/**
 * A transaction that `begin` starts may last so many seconds, even where the server allows others fewer. One after the
 * other, since they change a parameter of the server.
 */
function lasting(client: MongoClient, seconds: number, begin: () => Promise<unknown>): Promise<void> {
  const admin = client.db('admin')
  const limit = 'transactionLifetimeLimitSeconds'
  const own = turn.then(async () => {
    const { [limit]: usual } = await admin.command({ getParameter: 1, [limit]: 1 })
    await admin.command({ setParameter: 1, [limit]: seconds })
    await begin().finally(() => admin.command({ setParameter: 1, [limit]: usual }))
  })
  turn = own.catch(() => {})
  return own
}
