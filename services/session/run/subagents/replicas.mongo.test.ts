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
  for (const who of ['parent', 'child'] as const) {
    test(`a parent waits for the same child, which is prompted once, when another process takes over the ${who}`, async () => {
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
      // The new owner of the child asks again.
      if (who === 'child') peers.turns.push(text('Found'))
      const sessionId = `ses_${who}`
      await using one = await openSessionService({ pollMs: POLL_MS, peers, store, maxRuns: 1 })
      await using two = await openSessionService({ pollMs: POLL_MS, peers, store, maxRuns: 1 })
      await using mongo = await openMongo(store)
      await one.create(sessionId)
      await one.prompt('Go', { sessionId, messageId: `msg_${who}` })
      await begun.promise
      const childrenOf = async () => (await two.client.listSessions({ parentId: sessionId }, asKey)).sessions
      const [child] = await childrenOf()
      const taken = who === 'parent' ? sessionId : child?.sessionId
      const sessions = mongo.db.collection('sessions')
      const fenceOf = async () => (await sessions.findOne({ sessionId: taken }))?.fence
      const before = await fenceOf()
      // As if its owner had been killed: the lease has run out, and nobody gave it back.
      await sessions.updateOne({ sessionId: taken }, { $set: { leaseUntil: 1, claimableAt: 1 }, $inc: { version: 1 } })
      await waitFor('it to be taken over', async () => (await fenceOf()) !== before)
      found.resolve()
      await two.wait(sessionId)
      const children = await childrenOf()
      assert.deepEqual(
        children.map(({ sessionId }) => sessionId),
        [child?.sessionId],
      )
      const [call] = await two.calls(sessionId)
      assert.match(JSON.stringify(call?.content), /Found/)
      assert.deepEqual([await one.outcome(sessionId), children[0]?.outcome], [Outcome.SUCCEEDED, Outcome.SUCCEEDED])
      const prompts = (await two.messages(child?.sessionId)).filter(({ kind }) => kind.case === 'user')
      assert.equal(prompts.length, 1)
    })
  }
})
