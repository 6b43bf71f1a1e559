import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type BulkWriteResult,
  type ClientSession,
  MongoBulkWriteError,
  type MongoClient,
  MongoServerError,
} from 'mongodb'
import { deadTransactionEnder, transact } from './mongo-transactions.ts'

/** A client whose server returns these results, one for each check, and the sessions that it had to end. */
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

test('a server too busy to list its dead transactions is queried again until it does', async () => {
  const { end, killed } = scripted(SLOW, SLOW, dead)
  // Callers that come meanwhile share the same check.
  assert.deepEqual(await Promise.all([end(), end()]), [true, true])
  assert.deepEqual(killed, [[{ id: 'gone' }]])
})

test('looks for transactions to end once a second at most', async () => {
  const { end, killed, looked } = scripted([])
  assert.deepEqual([await end(), await end()], [false, false])
  assert.deepEqual([looked(), killed], [1, []])
})

test('a server that does not permit listing transactions gets only one such request', async () => {
  const { end, looked } = scripted(new MongoServerError({ message: 'not authorized', code: 13 }))
  assert.equal(await end(), false)
  assert.equal(looked(), 1)
})

test('a transaction that meets a conflict is run again, however the server reports it', async () => {
  const session = {
    startTransaction() {},
    async commitTransaction() {},
    async abortTransaction() {},
    inTransaction: () => true,
  }
  const client = {
    withSession: (work: (session: ClientSession) => unknown) => work(session as unknown as ClientSession),
  } as unknown as MongoClient
  const errorLabels = ['TransientTransactionError']
  const nothing = {} as BulkWriteResult
  const errors: readonly Error[] = [
    new MongoServerError({ message: 'conflict', code: 112, errorLabels }),
    new MongoBulkWriteError(new MongoServerError({ message: 'conflict', code: 112, errorLabels }), nothing),
    new MongoBulkWriteError({ message: 'conflict', code: 112, writeErrors: [] }, nothing),
  ]
  const limits = { limitMs: 3_600_000, operationMs: 1_000 }
  let tries = 0
  const answer = transact(
    client,
    async () => {
      const error = errors[tries++]
      if (error !== undefined) throw error
      return 'done'
    },
    limits,
  )
  assert.deepEqual([await answer, tries], ['done', 4])
  const other = new MongoBulkWriteError({ message: 'twice', code: 11_000, writeErrors: [] }, nothing)
  await assert.rejects(
    transact(client, () => Promise.reject(other), limits),
    other,
  )
})
