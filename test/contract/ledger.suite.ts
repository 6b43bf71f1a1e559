import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ledger, LedgerClosing, LedgerOpening } from '#services/inference/ports/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'

/** Longest generation that the ledgers of this suite are opened with. */
export const LONGEST_MS = 60_000

/** A store that a ledger can be opened on several times, one after the other. */
export interface LedgerStore extends AsyncDisposable {
  open(clock: Clock): Promise<Ledger>
}

const opening: LedgerOpening = {
  workspace: 'wrk_1',
  requestId: 'req_1',
  apiKeyId: 'key_1',
  origin: 'responses',
  sessionId: 'ses_1',
  providerId: 'openai',
  modelId: 'gpt',
}
const closing: LedgerClosing = {
  workspace: 'wrk_1',
  requestId: 'req_1',
  status: 'completed',
  usage: { inputTokens: 9n, outputTokens: 8n, cacheReadTokens: 7n, cacheWriteTokens: 6n, reasoningTokens: 5n },
  costNanos: 9_007_199_254_740_993n,
  error: '',
}

/** The promises of the Ledger port. */
export function ledgerSuite(
  name: string,
  makeStore: () => Promise<LedgerStore>,
  options: { skip: string | false },
): void {
  const rule = (title: string, run: (store: LedgerStore, clock: { time: number } & Clock) => Promise<void>): void => {
    test(`${name}: ${title}`, options, async () => {
      const clock = { time: 1_000, now: () => clock.time, monotonic: () => clock.time }
      await using store = await makeStore()
      await run(store, clock)
    })
  }

  rule('a request is one row, open until it is finished', async (store, clock) => {
    await using ledger = await store.open(clock)
    assert.equal(await ledger.get('wrk_1', 'req_1'), undefined)
    await ledger.open(opening)
    const open = { status: 'open', usage: undefined, costNanos: 0n, error: '', startedAt: 1_000, finishedAt: undefined }
    assert.deepEqual(await ledger.get('wrk_1', 'req_1'), { ...opening, ...open })
    clock.time = 2_500
    await ledger.close([closing])
    assert.deepEqual(await ledger.get('wrk_1', 'req_1'), {
      ...opening,
      ...closing,
      startedAt: 1_000,
      finishedAt: 2_500,
    })
  })

  rule('a request id is used once in a workspace, and belongs to it', async (store, clock) => {
    await using ledger = await store.open(clock)
    await ledger.open(opening)
    await assert.rejects(ledger.open(opening), reasonOfRejection('REQUEST_DUPLICATE', { request_id: 'req_1' }))
    await ledger.close([closing])
    await assert.rejects(ledger.open({ ...opening, modelId: 'other' }), reasonOfRejection('REQUEST_DUPLICATE'))
    await ledger.open({ ...opening, workspace: 'wrk_2' })
    assert.equal((await ledger.get('wrk_2', 'req_1'))?.status, 'open')
    assert.equal((await ledger.get('wrk_1', 'req_1'))?.status, 'completed')
  })

  rule('of many that begin one request at once, one does', async (store, clock) => {
    await using ledger = await store.open(clock)
    const begun = await Promise.allSettled(Array.from({ length: 8 }, () => ledger.open(opening)))
    assert.equal(begun.filter(({ status }) => status === 'fulfilled').length, 1)
  })

  rule(
    'of many that are opened at once, those that may be are, whatever becomes of the others',
    async (store, clock) => {
      await using ledger = await store.open(clock)
      await ledger.open(opening)
      const ids = ['req_0', 'req_1', 'req_2', 'req_2', 'req_3']
      const opened = await Promise.allSettled(ids.map((requestId) => ledger.open({ ...opening, requestId })))
      assert.deepEqual(
        opened.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
      )
      for (const requestId of ids) assert.equal((await ledger.get('wrk_1', requestId))?.status, 'open')
    },
  )

  rule('many rows are closed at once, each with its own end', async (store, clock) => {
    await using ledger = await store.open(clock)
    await Promise.all(['a', 'b'].map((requestId) => ledger.open({ ...opening, requestId })))
    const failed = {
      ...closing,
      requestId: 'b',
      status: 'failed',
      usage: undefined,
      error: 'PROVIDER_TIMEOUT',
    } as const
    await ledger.close([{ ...closing, requestId: 'a' }, failed, { ...closing, requestId: 'unknown' }])
    const [a, b] = [await ledger.get('wrk_1', 'a'), await ledger.get('wrk_1', 'b')]
    assert.deepEqual([a?.status, a?.usage, a?.error], ['completed', closing.usage, ''])
    assert.deepEqual([b?.status, b?.usage, b?.error], ['failed', undefined, 'PROVIDER_TIMEOUT'])
  })

  rule('rows that were opened before a time are settled as lost, closed and later ones stay', async (store, clock) => {
    await using ledger = await store.open(clock)
    for (const requestId of ['old', 'done']) await ledger.open({ ...opening, requestId })
    await ledger.close([{ ...closing, requestId: 'done' }])
    clock.time = 2_000
    await ledger.open({ ...opening, requestId: 'new' })
    clock.time = 3_000
    await ledger.settle(2_000)
    const rows = await Promise.all(['old', 'done', 'new'].map((requestId) => ledger.get('wrk_1', requestId)))
    assert.deepEqual(
      rows.map((row) => [row?.status, row?.error, row?.finishedAt]),
      [
        ['aborted', 'PROCESS_LOST', 3_000],
        ['completed', '', 1_000],
        ['open', '', undefined],
      ],
    )
  })

  rule('the first end counts, and a request that never began is no row', async (store, clock) => {
    await using ledger = await store.open(clock)
    await ledger.open(opening)
    await ledger.close([{ ...closing, status: 'aborted', usage: undefined, costNanos: 0n }])
    await ledger.close([closing])
    const row = await ledger.get('wrk_1', 'req_1')
    assert.deepEqual([row?.status, row?.usage, row?.costNanos], ['aborted', undefined, 0n])
    await ledger.close([{ ...closing, requestId: 'req_2' }])
    assert.equal(await ledger.get('wrk_1', 'req_2'), undefined)
  })

  rule('a reported zero stays a zero, apart from no report', async (store, clock) => {
    await using ledger = await store.open(clock)
    await ledger.open(opening)
    const usage = { inputTokens: 0n, outputTokens: 0n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n }
    await ledger.close([{ ...closing, status: 'failed', usage, error: 'PROVIDER_TIMEOUT' }])
    const row = await ledger.get('wrk_1', 'req_1')
    assert.deepEqual([row?.usage, row?.error], [usage, 'PROVIDER_TIMEOUT'])
  })

  rule('rows that nobody can finish any more are closed as aborted at open, others stay', async (store, clock) => {
    {
      await using ledger = await store.open(clock)
      await ledger.open(opening)
      await ledger.open({ ...opening, requestId: 'req_2' })
      await ledger.close([{ ...closing, requestId: 'req_2' }])
    }
    clock.time += LONGEST_MS + 1
    await using ledger = await store.open(clock)
    const [left, done] = [await ledger.get('wrk_1', 'req_1'), await ledger.get('wrk_1', 'req_2')]
    assert.deepEqual([left?.status, left?.error, left?.finishedAt], ['aborted', 'PROCESS_LOST', clock.time])
    assert.deepEqual([done?.status, done?.finishedAt], ['completed', 1_000])
  })
}
