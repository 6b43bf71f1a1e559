import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import pino from 'pino'
import { systemClock } from '#shared/clock.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { AuditRetention } from './audit-retention.ts'

const DAY_MS = 86_400_000
const clock = { ...systemClock, now: () => 100 * DAY_MS }

test('a start removes expired entries, some at a time, until nothing is left', async () => {
  const calls: [number, number][] = []
  const left = [500, 500, 3, 0]
  const audit = {
    expire: async (before: number, limit: number) => {
      calls.push([before, limit])
      return left.shift() ?? assert.fail()
    },
  }
  await using _ = new AuditRetention({ audit, clock, logger: silentLogger, keepDays: 30 })
  await waitFor('the last call', () => left.length === 0)
  assert.deepEqual(calls, Array(4).fill([70 * DAY_MS, 500]))
})

test('a stop waits for the commit in progress, and begins no other', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  let calls = 0
  const audit = {
    expire: () => {
      calls += 1
      return promise
    },
  }
  const retention = new AuditRetention({ audit, clock, logger: silentLogger, keepDays: 30 })
  let stopped = false
  const stopping = retention[Symbol.asyncDispose]().then(() => {
    stopped = true
  })
  await nextTurn()
  assert.equal(stopped, false)
  resolve(500)
  await stopping
  assert.equal(calls, 1)
})

test('a removal that fails because the store is away is a line in the log', async () => {
  const lines: string[] = []
  const logger = pino({}, { write: (line: string) => void lines.push(line) })
  const audit = { expire: () => Promise.reject(new Error('away')) }
  await using _ = new AuditRetention({ audit, clock, logger, keepDays: 30 })
  await waitFor('a line', () => lines.length > 0)
  assert.match(lines.join(), /could not be removed/)
})
