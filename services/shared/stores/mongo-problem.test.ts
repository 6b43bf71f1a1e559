import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BulkWriteResult, MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb'
import { mongoProblem } from '#shared/stores/mongo-problem.ts'

test('a bulk write that fails because of the server is an outage, one that meets a duplicate is none', () => {
  const nothing = {} as BulkWriteResult
  const away = { kind: 'away', text: 'gone' }
  assert.deepEqual(mongoProblem(new MongoBulkWriteError(new MongoNetworkError('gone'), nothing)), away)
  const stepDown = new MongoServerError({ message: 'gone', code: 10_107 })
  assert.deepEqual(mongoProblem(new MongoBulkWriteError(stepDown, nothing)), away)
  const late = { message: 'gone', code: 64, writeErrors: [] }
  assert.deepEqual(mongoProblem(new MongoBulkWriteError(late, nothing)), away)
  const conflict = { message: 'gone', code: 112, writeErrors: [] }
  assert.deepEqual(mongoProblem(new MongoBulkWriteError(conflict, nothing)), { ...away, locked: true })
  const labelled = new MongoServerError({ message: 'gone', code: 112, errorLabels: ['TransientTransactionError'] })
  assert.deepEqual(mongoProblem(new MongoBulkWriteError(labelled, nothing)), { ...away, locked: true })
  const duplicate = { message: 'twice', code: 11_000, writeErrors: [] }
  assert.equal(mongoProblem(new MongoBulkWriteError(duplicate, nothing)), undefined)
})
