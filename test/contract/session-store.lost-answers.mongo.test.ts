import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ClientSession, MongoServerError } from 'mongodb'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { messageOf } from '#services/session/domain/message.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { finishRemovals, fromStaged } from './session-store.removal.ts'
import { ManualClock, messages, newSession, refusal, W } from './session-store.support.ts'

async function open() {
  await using opening = new AsyncDisposableStack()
  const mongo = opening.use(await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() }))
  opening.defer(async () => {
    await mongo.db.dropDatabase()
  })
  const store = withUseCases(opening.use(await openMongoSessionStore({ mongo, clock: new ManualClock() })))
  const resources = opening.move()
  return { store, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** Does something whose first transaction is committed, while its writer has to run it again. */
async function losingAnswer<T>(work: () => Promise<T>): Promise<T> {
  const { commitTransaction } = ClientSession.prototype
  let lost = 0
  ClientSession.prototype.commitTransaction = async function (...given) {
    await commitTransaction.apply(this, given)
    if (lost++ > 0) return
    throw new MongoServerError({ message: 'lost', code: 251, errorLabels: ['TransientTransactionError'] })
  }
  try {
    return await work()
  } finally {
    ClientSession.prototype.commitTransaction = commitTransaction
    assert.ok(lost > 1)
  }
}

const said = (messageId: string) => messageOf({ messageId, createTime: 1 }, 'system', { text: messageId })

suite('a write whose answer is lost after its commit', { skip: skipWithoutMongo }, () => {
  test('is made once, and succeeds, when it stages a session', async () => {
    await using fixture = await open()
    const { store } = fixture
    const staged = await losingAnswer(() => store.stageSession(W, 'ses_1', 'import'))
    await losingAnswer(() => store.appendStaged(staged, [said('msg_1'), said('msg_2')]))
    await store.appendStaged(staged, [said('msg_3')])
    const session = await losingAnswer(() => store.commitStaged(staged, fromStaged('ses_1')))
    assert.equal(session.sessionId, 'ses_1')
    assert.deepEqual(
      (await messages(store)).map(({ message }) => message.messageId),
      ['msg_1', 'msg_2', 'msg_3'],
    )
    const { events } = await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 10 })
    assert.deepEqual(
      events.map(({ event }) => event.case),
      ['sessionCreated'],
    )
  })

  test('is refused if another write was made in its place', async () => {
    await using fixture = await open()
    const { store } = fixture
    const staged = await store.stageSession(W, 'ses_1', 'fork')
    await store.createSession(W, newSession())
    const exists = refusal('SESSION_EXISTS', { session_id: 'ses_1' })
    await assert.rejects(store.commitStaged(staged, fromStaged('ses_1')), exists)
  })

  test('is made once, and succeeds, when it removes a session', async () => {
    await using fixture = await open()
    const { store } = fixture
    await store.createSession(W, newSession())
    const removal = await losingAnswer(() => store.removeSession(W, 'ses_1'))
    assert.equal(removal.sessionId, 'ses_1')
    assert.equal((await finishRemovals(store)).length, 1)
    await assert.rejects(store.removeSession(W, 'ses_1'), refusal('SESSION_NOT_FOUND'))
  })
})
