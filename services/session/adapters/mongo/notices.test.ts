import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMongo } from '#shared/stores/mongo.ts'
import { skipWithoutMongod, startOwnMongo } from '#test/support/own-mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { collectionsOf } from './collections.ts'
import { MongoNotices, noticeOf } from './notices.ts'

test('notices say that everything may have changed while no change stream is open, and are exact afterwards', {
  skip: skipWithoutMongod,
}, async () => {
  using data = scratchDirectory()
  await using server = await startOwnMongo(data.path)
  await using mongo = await openMongo({ uri: server.uri, database: 'notices' })
  const collections = collectionsOf(mongo.db)
  await using notices = new MongoNotices(collections)
  let any = 0
  const notified: string[] = []
  using _ = notices.listen(({ sessionId }) => {
    if (sessionId === undefined) any++
    else notified.push(sessionId)
  })
  const sessions = mongo.db.collection<{ _id: string }>('sessions')
  let writes = 0
  const write = async (sessionId: string): Promise<void> => {
    await sessions.insertOne({ _id: `wrk_1/${sessionId}` })
    await sessions.updateOne({ _id: `wrk_1/${sessionId}` }, { $set: { notice: noticeOf(['run']) } })
  }
  const streams = async (): Promise<boolean> => {
    await write(`ses_${writes++}`)
    return notified.includes(`ses_${writes - 2}`)
  }
  await waitFor('the stream reports a write', streams)

  const failures = { failCommands: ['aggregate', 'getMore'], errorCode: 286, namespace: 'notices.sessions' }
  await server.command({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data: failures })
  const before = any
  await waitFor('everything may have changed, three times', () => any >= before + 3)
  const last = notified.length
  await write('ses_unheard')
  const then = any
  await waitFor('the poll comes after the write', () => any > then + 1)
  assert.equal(notified.length, last, 'the stream was really broken')

  await server.command({ configureFailPoint: 'failCommand', mode: 'off' })
  await waitFor('the stream reports a write again', streams)
})
