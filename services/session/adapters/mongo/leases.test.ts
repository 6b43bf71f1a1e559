import { test } from 'node:test'
import { openMongo } from '#shared/stores/mongo.ts'
import { admission, ManualClock, newSession, W } from '#test/contract/session-store.support.ts'
import { skipWithoutMongod, startOwnMongo } from '#test/support/own-mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { waitUntil } from '#test/support/wait-until.ts'
import { openMongoSessionStore } from './session-store.ts'

const MAX_TIME_EXPIRED = 50

test('a server that is too slow for a claim is tried again soon, however often it was slow', {
  skip: skipWithoutMongod,
}, async () => {
  using folder = scratchDirectory()
  await using server = await startOwnMongo(folder.path)
  await using mongo = await openMongo({ uri: server.uri, database: 'leases' })
  await using opened = await openMongoSessionStore({ mongo, clock: new ManualClock() })
  const store = withUseCases(opened)
  await store.createSession(W, newSession())
  await store.admit(W, admission('msg_1'))
  const data = { failCommands: ['findAndModify'], errorCode: MAX_TIME_EXPIRED }
  await server.command({ configureFailPoint: 'failCommand', mode: { times: 45 }, data })
  // Like a lock, which is left for longer each time, it would take longer than anything is waited for.
  await waitUntil('the lease', () => store.acquireLease('own_1', 60_000))
})
