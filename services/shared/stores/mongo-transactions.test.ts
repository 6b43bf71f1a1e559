import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MongoClient, MongoServerError } from 'mongodb'
import { deadTransactionEnder } from './mongo-transactions.ts'

/** A client whose server answers each look with the next of these, and the sessions that it was asked to end. */
function scripted(...looks: (Error | readonly unknown[])[]) {
  const killed: unknown[] = []
  let looked = 0
  const admin = {
    aggregate: () => ({
      toArray: async () => {
        const answer = looks[looked++] ?? assert.fail('too many looks')
        if (answer instanceof Error) throw answer
        return answer
      },
    }),
    command: async ({ killSessions }: { killSessions: unknown }) => void killed.push(killSessions),
  }
  const client = { db: () => admin } as unknown as MongoClient
  return {
    end: deadTransactionEnder(client, { appName: 'portico/x', operationMs: 4_000 }),
    killed,
    looked: () => looked,
  }
}

const dead = [{ lsid: { id: 'gone' } }]
const SLOW = new MongoServerError({ message: 'operation exceeded time limit', code: 50 })

test('a server too busy to name its dead transactions is asked again until it does', async () => {
  const { end, killed } = scripted(SLOW, SLOW, dead)
  // Whoever asks meanwhile waits for the same look.
  assert.deepEqual(await Promise.all([end(), end()]), [true, true])
  assert.deepEqual(killed, [[{ id: 'gone' }]])
})

test('it is looked once a second at most', async () => {
  const { end, killed, looked } = scripted([])
  assert.deepEqual([await end(), await end()], [false, false])
  assert.deepEqual([looked(), killed], [1, []])
})

test('a server that does not allow it is left alone', async () => {
  const { end, looked } = scripted(new MongoServerError({ message: 'not authorized', code: 13 }))
  assert.equal(await end(), false)
  assert.equal(looked(), 1)
})
