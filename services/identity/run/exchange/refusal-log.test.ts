import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  type AuditEntry,
  AuditEntry_ExchangesRefusedSchema as CountedSchema,
} from '#gen/portico/identity/v1/federation_pb.js'
import { entryOf, refused } from '#test/support/audit-events.ts'
import { silentLogger } from '#test/support/transports.ts'
import { RefusalLog } from './refusal-log.ts'

const refusal = { ...refused.value, issuerId: 'iss_one', found: '"x"', subject: 'x' }

function openLog(append?: () => Promise<void>) {
  const entries: AuditEntry[] = []
  const clock = { wall: 1_000_000, steady: 0, now: () => clock.wall, monotonic: () => clock.steady }
  const write = async (entry: AuditEntry) => void entries.push(entry)
  const log = new RefusalLog({ audit: { append: append ?? write }, clock, logger: silentLogger })
  return { log, clock, entries }
}

test('60 refusals a minute of one policy and reason are written, and the others counted in one entry', async () => {
  const { log, clock, entries } = openLog()
  for (let count = 0; count < 1000; count += 1) {
    clock.wall += 1
    log.record('org_one', refusal)
  }
  assert.equal(entries.length, 60)
  assert.deepEqual(entries[0], entryOf('org_one', 1_000_001, { case: 'exchangeRefused', value: refusal }))
  clock.steady += 60_000
  clock.wall += 60_000
  log.record('org_one', refusal)
  const { policyId, issuerId, reason } = refusal
  const times = { firstTime: 1_000_061, lastTime: 1_001_000 }
  const value = create(CountedSchema, { policyId, issuerId, reason, count: 940, ...times })
  assert.deepEqual(entries[60], entryOf('org_one', 1_001_000, { case: 'exchangesRefused', value }))
  assert.equal(entries[61]?.time, 1_061_000)
  await log[Symbol.asyncDispose]()
  assert.equal(entries.length, 62)
})

test('each policy and each reason has its own minute, by a clock that is never put back', async () => {
  const { log, clock, entries } = openLog()
  for (const reason of ['subject', 'audience']) {
    for (const policyId of ['one', 'two']) {
      for (let count = 0; count < 61; count += 1) log.record('org_one', { ...refusal, reason, policyId })
    }
  }
  clock.wall -= 1_000_000
  log.record('org_one', refusal)
  assert.equal(entries.length, 4 * 60 + 1)
  await log[Symbol.asyncDispose]()
  assert.equal(entries.filter(({ event }) => event.case === 'exchangesRefused').length, 4)
})

test('a minute is closed when it is over even if no refusal follows, and nothing of it is kept', async (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] })
  const { log, clock, entries } = openLog()
  for (let count = 0; count < 61; count += 1) log.record('org_one', refusal)
  assert.equal(entries.length, 60)
  clock.steady += 60_000
  context.mock.timers.tick(60_000)
  assert.equal(entries.at(-1)?.event.case, 'exchangesRefused')
  await log[Symbol.asyncDispose]()
  assert.equal(entries.length, 61)
})

test('closing waits for entries that are being written; an entry that the store refuses is lost without an error', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = openLog(() => promise)
  slow.log.record('org_one', refusal)
  let closed = false
  const closing = slow.log[Symbol.asyncDispose]().then(() => {
    closed = true
  })
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  assert.equal(closed, false)
  resolve()
  await closing
  const failing = openLog(() => Promise.reject(new Error('the store is away')))
  failing.log.record('org_one', refusal)
  await failing.log[Symbol.asyncDispose]()
})
