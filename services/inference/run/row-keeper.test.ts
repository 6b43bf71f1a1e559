import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { silentLogger } from '#test/support/transports.ts'
import type { Ledger, LedgerProgress } from '../ports/ledger.ts'
import { RowKeeper } from './row-keeper.ts'

test('rows of dead processes are settled every three seconds, and rows that grew are noted, even if the last try failed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let settled = 0
  const noted: LedgerProgress[] = []
  const settle = async (): Promise<void> => {
    if (++settled === 1) throw new Error('away')
  }
  const note = async (progress: readonly LedgerProgress[]): Promise<void> => void noted.push(...progress)
  using keeper = new RowKeeper({ settle, note } as Partial<Ledger> as Ledger, silentLogger)
  const meter = { outputTokens: 4n }
  const row = keeper.keep({ workspaceId: 'wrk_1', requestId: 'req_1', meter })
  using _ = keeper.keep({ workspaceId: 'wrk_1', requestId: 'req_2', meter: { outputTokens: 0n } })
  const tick = async (): Promise<void> => {
    t.mock.timers.tick(3_000)
    await turn()
  }
  await tick()
  assert.deepEqual([settled, noted], [1, []])
  await tick()
  await tick()
  assert.deepEqual([settled, noted], [3, [{ workspaceId: 'wrk_1', requestId: 'req_1', outputTokens: 4n }]])
  meter.outputTokens = 9n
  await tick()
  assert.deepEqual(noted.at(-1), { workspaceId: 'wrk_1', requestId: 'req_1', outputTokens: 9n })
  meter.outputTokens = 12n
  row[Symbol.dispose]()
  await tick()
  assert.deepEqual([settled, noted.length], [5, 2])
})
