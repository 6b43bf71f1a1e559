import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import type { Ledger, LedgerClosing } from '../ports/ledger.ts'
import { RowCloser } from './row-closer.ts'

/** A ledger that records what it is to close, and then does what a test says. */
function openLedger(afterwards: (calls: number) => Promise<void> = async () => {}) {
  const calls: string[][] = []
  const close = async (closings: readonly LedgerClosing[]): Promise<void> => {
    calls.push(closings.map(({ requestId }) => requestId))
    await afterwards(calls.length)
  }
  return { calls, ledger: { close, announce: async () => {} } as Partial<Ledger> as Ledger }
}

function closingOf(requestId: string): LedgerClosing {
  return {
    workspaceId: 'wrk_1',
    requestId,
    apiKeyId: 'key_1',
    status: Status.COMPLETED,
    costNanos: 0n,
    costKnown: true,
    leftOut: [],
  }
}

test('rows that end within a few milliseconds are closed in one write', async () => {
  const { calls, ledger } = openLedger()
  await using closer = new RowCloser(ledger, silentLogger)
  for (const id of ['a', 'b', 'c']) void closer.close(closingOf(id))
  assert.deepEqual(calls, [])
  await waitFor('a write', () => calls.length > 0)
  assert.deepEqual(calls, [['a', 'b', 'c']])
})

test('rows that wait are closed at once when another one is opened', async () => {
  const { calls, ledger } = openLedger()
  await using closer = new RowCloser(ledger, silentLogger)
  for (const id of ['a', 'b']) void closer.close(closingOf(id))
  closer.flush()
  assert.deepEqual(calls, [['a', 'b']])
  closer.flush()
  assert.equal(calls.length, 1)
})

test('a write is retried while the store is away, and rows that end meanwhile do not wait for it', async () => {
  const { calls, ledger } = openLedger(async (call) => {
    if (call === 1) throw storeUnavailable('away')
  })
  await using closer = new RowCloser(ledger, silentLogger)
  void closer.close(closingOf('a'))
  await waitFor('the first try', () => calls.length === 1)
  void closer.close(closingOf('b'))
  await waitFor('all writes', () => calls.length === 3)
  assert.deepEqual(calls, [['a'], ['b'], ['a']])
})

test('a row that cannot be written keeps no other one open, and is given up', async () => {
  const written: string[] = []
  const close = async (closings: readonly LedgerClosing[]): Promise<void> => {
    if (closings.some(({ requestId }) => requestId === 'bad')) throw new RangeError('no such number')
    written.push(...closings.map(({ requestId }) => requestId))
  }
  const abandoned: unknown[] = []
  const abandon = (...row: unknown[]): void => void abandoned.push(row)
  const ledger = { close, announce: async () => {}, abandon } as Partial<Ledger> as Ledger
  await using closer = new RowCloser(ledger, silentLogger)
  for (const id of ['a', 'bad', 'c']) void closer.close(closingOf(id))
  await waitFor('all three', () => written.length + abandoned.length === 3)
  assert.deepEqual([written, abandoned], [['a', 'c'], [['wrk_1', 'bad', true]]])
})

test('once disposal has waited long enough, a store that is away is not tried again', async (t) => {
  const abandoned: unknown[] = []
  const { ledger } = openLedger(() => Promise.reject(storeUnavailable('away')))
  const abandon = (...row: unknown[]): void => void abandoned.push(row)
  const closer = new RowCloser({ ...ledger, abandon }, silentLogger)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  void closer.close(closingOf('a'))
  const disposed = closer[Symbol.asyncDispose]()
  t.mock.timers.tick(5_000)
  t.mock.timers.reset()
  await disposed
  await waitFor('the end of all tries', () => abandoned.length === 1)
  assert.deepEqual(abandoned, [['wrk_1', 'a', true]])
})

test('disposal closes waiting rows, and waits for those being written', async () => {
  const written: number[] = []
  const { calls, ledger } = openLedger(async (call) => {
    await new Promise(setImmediate)
    written.push(call)
  })
  const closer = new RowCloser(ledger, silentLogger)
  void closer.close(closingOf('a'))
  await waitFor('a write', () => calls.length === 1)
  void closer.close(closingOf('b'))
  await closer[Symbol.asyncDispose]()
  assert.deepEqual(
    [calls, written],
    [
      [['a'], ['b']],
      [1, 2],
    ],
  )
})
