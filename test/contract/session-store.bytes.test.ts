import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { BSON } from 'mongodb'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { DurableInit } from '#services/session/domain/event.ts'
import { textResult } from '#services/session/domain/generation/call-outcome.ts'
import { newStep } from '#services/session/domain/generation/draft-part.ts'
import { StepDraft } from '#services/session/domain/generation/step-draft.ts'
import type { MessageOf } from '#services/session/domain/message.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { OwnedSession } from '#services/session/run/owned-session.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { extended, sent, started } from '#test/support/session-turns.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { acquire, admission, admit, ManualClock, MODEL, newSession, W } from './session-store.support.ts'

const CALLS = 30
const RESULT_BYTES = 50_000
/** Each result once, and a little for its surroundings. */
const LEAST_BYTES = CALLS * RESULT_BYTES
const MOST_BYTES = LEAST_BYTES * 1.2
/** Of several that are read at once, some are read again. */
const MOST_READ_BYTES = LEAST_BYTES * 1.5

/** Runs one step whose calls end one after the other, each with a long result. */
async function doStep(port: SessionStore): Promise<void> {
  const store = withUseCases(port)
  await store.createSession(W, newSession())
  await admit(store, Delivery.STEER, 'msg_1')
  const lease = await acquire(store, 60_000)
  await store.promote(lease, 'idle')
  const owned = new OwnedSession(port, { lease, checkHeld() {}, heed() {} })
  const draft = new StepDraft(newStep('msg_step', 'build', MODEL, 0), 100)
  let before: MessageOf<'assistant'> | undefined
  const write = async (events: readonly DurableInit[]): Promise<void> => {
    const { message } = draft
    await owned.recordStep(before, { message, events })
    before = message
  }
  const ids = Array.from({ length: CALLS }, (_, n) => `call_${n}`)
  for (const [index, callId] of ids.entries()) {
    draft.follow(sent(started(index, Kind.TOOL_CALL, callId, 'read')), 0)
    draft.follow(sent(extended(index, '{}')), 0)
  }
  await write([])
  await write(draft.streamed(0))
  for (const callId of ids) {
    const content = [textResult('x'.repeat(RESULT_BYTES))]
    await write([draft.settle(callId, { error: undefined, content, metadata: undefined }, 0)])
  }
  const [, stored] = await store.readTranscript(lease, 0)
  assert.ok(stored?.message.kind.case === 'assistant')
  assert.equal(stored.message.kind.value.parts.length, CALLS)
}

test('a step with 30 long results writes each of them once (SQLite)', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-bytes-'))
  await using store = await openSqliteSessionStore({ path: join(directory, 's.sqlite'), clock: new ManualClock() })
  let bytes = 0
  const { run } = StatementSync.prototype
  StatementSync.prototype.run = function (this: StatementSync, ...values: unknown[]) {
    for (const value of values) if (typeof value === 'string') bytes += Buffer.byteLength(value)
    return Reflect.apply(run, this, values)
  } as typeof run
  try {
    await doStep(store)
  } finally {
    StatementSync.prototype.run = run
  }
  assert.ok(bytes > LEAST_BYTES && bytes < MOST_BYTES, `${bytes} bytes`)
  await rm(directory, { recursive: true })
})

test('a step with 30 long results writes each of them once (MongoDB)', { skip: skipWithoutMongo }, async () => {
  const uri = `${mongoUri()}&monitorCommands=true`
  await using mongo = await openMongo({ uri, database: freshDatabaseName() })
  await using store = await openMongoSessionStore({ mongo, clock: new ManualClock() })
  let bytes = 0
  mongo.client.on('commandStarted', ({ command }) => {
    bytes += BSON.calculateObjectSize(command)
  })
  await doStep(store)
  await mongo.db.dropDatabase()
  assert.ok(bytes > LEAST_BYTES && bytes < MOST_BYTES, `${bytes} bytes`)
})

test('reading many long events transfers hardly more than their texts (MongoDB)', {
  skip: skipWithoutMongo,
}, async () => {
  const uri = `${mongoUri()}&monitorCommands=true`
  await using mongo = await openMongo({ uri, database: freshDatabaseName() })
  await using port = await openMongoSessionStore({ mongo, clock: new ManualClock() })
  const store = withUseCases(port)
  await store.createSession(W, newSession())
  const stop = new AbortController()
  const { value: ready } = await store.tailEvents(W, undefined, stop.signal)[Symbol.asyncIterator]().next()
  assert.equal(ready?.type, 'ready')
  const text = 'x'.repeat(RESULT_BYTES)
  for (let n = 0; n < CALLS; n++) await store.admit(W, admission(`msg_${n}`, { text }))
  let bytes = 0
  mongo.client.on('commandSucceeded', ({ commandName, reply }) => {
    if (commandName === 'find') bytes += BSON.calculateObjectSize(reply as BSON.Document)
  })
  let events = 0
  for await (const { type } of store.tailEvents(W, ready.position, stop.signal)) {
    if (type === 'event') events++
    if (events === CALLS) break
  }
  stop.abort()
  await mongo.db.dropDatabase()
  assert.ok(bytes > LEAST_BYTES && bytes < MOST_READ_BYTES, `${bytes} bytes`)
})
