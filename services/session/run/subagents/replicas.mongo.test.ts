import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService } from '#test/support/session-service.ts'
import { calls, text } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

const POLL_MS = 300
const uri = mongoUri() ?? ''
const store = { kind: 'mongodb', uri, database: freshDatabaseName() } as const

after(async () => {
  if (skipWithoutMongo !== false) return
  await using mongo = await openMongo(store)
  await mongo.db.dropDatabase()
})

suite('subagents in two session services on one MongoDB', { skip: skipWithoutMongo }, () => {
  test('a parent that another process takes over waits for the same child, which is prompted once', async () => {
    const peers = scriptedPeers()
    peers.subagents.push({ agentId: 'explore' })
    const begun = Promise.withResolvers<void>()
    const found = Promise.withResolvers<void>()
    const input = { description: 'Look', prompt: 'Find it', subagent_type: 'explore' }
    peers.turns.push(calls({ id: 'a', name: 'task', input }), async function* (request, signal) {
      begun.resolve()
      await found.promise
      yield* text('Found')(request, signal)
    })
    await using one = await openSessionService({ pollMs: POLL_MS, peers, store, maxRuns: 1 })
    await using two = await openSessionService({ pollMs: POLL_MS, peers, store, maxRuns: 1 })
    await using mongo = await openMongo(store)
    await one.create()
    await one.prompt('Go')
    await begun.promise
    const sessions = mongo.db.collection('sessions')
    const fenceOf = async () => (await sessions.findOne({ id: 'ses_1' }))?.fence
    const before = await fenceOf()
    // As if its owner had been killed: the lease has run out, and nobody gave it back.
    await sessions.updateOne({ id: 'ses_1' }, { $set: { leaseUntil: 1, claimableAt: 1 }, $inc: { version: 1 } })
    await waitFor('the parent to be taken over', async () => (await fenceOf()) !== before)
    found.resolve()
    await two.wait()
    const children = (await two.client.listSessions({ parentId: 'ses_1' }, asKey)).sessions
    assert.equal(children.length, 1)
    const [call] = await two.calls()
    assert.match(JSON.stringify(call?.content), /Found/)
    assert.deepEqual([await one.outcome(), children[0]?.outcome], [Outcome.SUCCEEDED, Outcome.SUCCEEDED])
    assert.equal(peers.requests.length, 3)
  })
})
