import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLogger } from '#test/support/transports.ts'
import type { Ledger } from '../ports/ledger.ts'
import { longestOpen, RowSettler } from './row-settler.ts'

test('once a minute the rows are settled that no generation can still have open, whatever became of the last try', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const settled: number[] = []
  const settle = async (openedBefore: number): Promise<void> => {
    settled.push(openedBefore)
    if (settled.length === 1) throw new Error('away')
  }
  const clock = { now: () => 10_000_000, monotonic: () => 0 }
  const ledger = { settle } as Partial<Ledger> as Ledger
  const settler = new RowSettler(ledger, { clock, logger: silentLogger, longestMs: longestOpen(3_600_000) })
  t.mock.timers.tick(60_000)
  t.mock.timers.tick(60_000)
  assert.deepEqual(settled, [6_280_000, 6_280_000])
  settler[Symbol.dispose]()
  t.mock.timers.tick(60_000)
  assert.equal(settled.length, 2)
})
