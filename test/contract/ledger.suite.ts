import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  AppliedPresetSchema,
  AttributionSchema,
  FinishReason,
  UsageSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  GenerationRecordSchema,
  GenerationRecord_Status as Status,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import type { MaxCost } from '#services/inference/domain/ledger/admission.ts'
import type { Ledger, LedgerClosing, LedgerOpening } from '#services/inference/ports/ledger.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'

/** A store that a ledger can be opened on several times, one after the other. */
export interface LedgerStore extends AsyncDisposable {
  open(clock: Clock): Promise<Ledger>
}

/** A request by a key. */
export const opening: LedgerOpening = {
  workspaceId: 'wrk_1',
  requestId: 'req_1',
  apiKeyId: 'key_1',
  origin: 'responses',
  streamed: true,
  sessionId: 'ses_1',

  user: 'someone',
  providerId: 'openai',
  modelId: 'gpt',
  preset: create(AppliedPresetSchema, { presetId: 'pre_1', slug: 'calm', version: 3 }),
  attribution: create(AttributionSchema, {
    referer: 'https://example.com',
    title: 'A title',
    categories: 'tests',
    userAgent: 'test',
  }),
  metadata: { team: 'red', '$a.b': 'odd', '': 'no name' },
}
/** How it ends. */
export const closing: LedgerClosing = {
  workspaceId: 'wrk_1',
  requestId: 'req_1',
  apiKeyId: 'key_1',
  status: Status.COMPLETED,
  usage: create(UsageSchema, {
    inputTokens: 9n,
    outputTokens: 8n,
    cacheReadTokens: 7n,
    cacheWriteTokens: 6n,
    reasoningTokens: 5n,
  }),

  costNanos: 9_007_199_254_740_993n,
  costKnown: true,
  finishReason: FinishReason.STOP,
  rawReason: 'end_turn',

  serviceTier: 'flex',
  leftOut: ['sampling.top_k'],
  firstPartMs: 12,
}
/** Its row then. */
const closedRecord = create(GenerationRecordSchema, {
  ...opening,
  ...closing,
  createTime: 1_000,
  finishTime: 2_500,
})
/** What it may cost: 3 nano-dollars for input, and 2 for each of 10 output tokens. */
export const maxCost: MaxCost = {
  inputTokens: 3n,
  outputTokens: 10n,
  isFixed: true,
  prices: { inputNanos: 1_000_000n, outputNanos: 2_000_000n },
}

/** The promises of the Ledger port. */
export function ledgerSuite(
  name: string,
  makeStore: () => Promise<LedgerStore>,
  options: { skip: string | false },
): void {
  const rule = (title: string, run: (store: LedgerStore, clock: { time: number } & Clock) => Promise<void>): void => {
    test(`${name}: ${title}`, options, async () => {
      const clock = { time: 1_000, now: () => clock.time, monotonic: systemClock.monotonic }
      await using store = await makeStore()
      await run(store, clock)
    })
  }

  rule('a request is one row, open until it is finished', async (store, clock) => {
    await using ledger = await store.open(clock)
    assert.equal(await ledger.get('wrk_1', 'req_1'), undefined)
    await ledger.open(opening, maxCost, undefined)
    const open = create(GenerationRecordSchema, { ...opening, status: Status.OPEN, createTime: 1_000 })
    assert.deepEqual(await ledger.get('wrk_1', 'req_1'), open)
    clock.time = 2_500
    await ledger.close([closing])
    assert.deepEqual(await ledger.get('wrk_1', 'req_1'), closedRecord)
  })

  rule('a request id is used once in a workspace, and belongs to it', async (store, clock) => {
    await using ledger = await store.open(clock)
    await ledger.open(opening, maxCost, undefined)
    await assert.rejects(
      ledger.open(opening, maxCost, undefined),
      reasonOfRejection('REQUEST_DUPLICATE', { request_id: 'req_1' }),
    )
    await ledger.close([closing])
    await assert.rejects(
      ledger.open({ ...opening, modelId: 'other' }, maxCost, undefined),
      reasonOfRejection('REQUEST_DUPLICATE'),
    )
    await ledger.open({ ...opening, workspaceId: 'wrk_2' }, maxCost, undefined)
    assert.equal((await ledger.get('wrk_2', 'req_1'))?.status, Status.OPEN)
    assert.equal((await ledger.get('wrk_1', 'req_1'))?.status, Status.COMPLETED)
  })

  rule('only one of several concurrent openings of a request succeeds', async (store, clock) => {
    await using ledger = await store.open(clock)
    const begun = await Promise.allSettled(Array.from({ length: 8 }, () => ledger.open(opening, maxCost, undefined)))
    assert.equal(begun.filter(({ status }) => status === 'fulfilled').length, 1)
  })

  rule(
    'requests opened at once are each admitted or refused on their own, whatever becomes of the others',
    async (store, clock) => {
      await using ledger = await store.open(clock)
      await ledger.open(opening, maxCost, undefined)
      const ids = ['req_0', 'req_1', 'req_2', 'req_2', 'req_3']
      const opened = await Promise.allSettled(
        ids.map((requestId) => ledger.open({ ...opening, requestId }, maxCost, undefined)),
      )
      const [first, used, twice, again, last] = opened.map(({ status }) => status)
      assert.deepEqual([first, used, last], ['fulfilled', 'rejected', 'fulfilled'])
      assert.deepEqual([twice, again].sort(), ['fulfilled', 'rejected'])
      for (const requestId of ids) assert.equal((await ledger.get('wrk_1', requestId))?.status, Status.OPEN)
    },
  )

  rule('many rows are closed at once, each with its own end', async (store, clock) => {
    await using ledger = await store.open(clock)
    await Promise.all(['a', 'b'].map((requestId) => ledger.open({ ...opening, requestId }, maxCost, undefined)))
    const failed = {
      ...closing,
      requestId: 'b',
      status: Status.FAILED,
      usage: undefined,
      error: 'PROVIDER_TIMEOUT',
    } as const
    await ledger.close([{ ...closing, requestId: 'a' }, failed, { ...closing, requestId: 'unknown' }])
    const [a, b] = [await ledger.get('wrk_1', 'a'), await ledger.get('wrk_1', 'b')]
    assert.deepEqual([a?.status, a?.usage, a?.error], [Status.COMPLETED, closing.usage, undefined])
    assert.deepEqual([b?.status, b?.usage, b?.error], [Status.FAILED, undefined, 'PROVIDER_TIMEOUT'])
  })

  rule('the first end of a request counts, and the end of one that never began makes no row', async (store, clock) => {
    await using ledger = await store.open(clock)
    await ledger.open(opening, maxCost, undefined)
    await ledger.close([{ ...closing, status: Status.ABORTED, usage: undefined, costNanos: 0n }])
    await ledger.close([closing])
    const row = await ledger.get('wrk_1', 'req_1')
    assert.deepEqual([row?.status, row?.usage, row?.costNanos], [Status.ABORTED, undefined, 0n])
    await ledger.close([{ ...closing, requestId: 'req_2' }])
    assert.equal(await ledger.get('wrk_1', 'req_2'), undefined)
  })

  rule('the close of a row that counted as lost corrects the row and the sums, once', async (store, clock) => {
    await using ledger = await store.open(clock)
    const query = { workspaceId: 'wrk_1', day: 0, keyId: undefined, metadataKey: undefined }
    for (const requestId of ['req_1', 'req_2']) await ledger.open({ ...opening, requestId }, maxCost, undefined)
    ledger.abandon('wrk_1', 'req_1', true)
    await ledger.settle()
    const [lost] = await ledger.activity(query)
    assert.deepEqual([lost?.requestCount, lost?.costNanos, lost?.usage?.inputTokens], [1, 3n, 3n])
    clock.time = 2_500
    await ledger.close([closing, { ...closing, requestId: 'req_2' }])
    await ledger.close([{ ...closing, costNanos: 1n }])
    assert.deepEqual(await ledger.get('wrk_1', 'req_1'), closedRecord)
    const [account = assert.fail()] = await ledger.accounts('wrk_1', ['key_1'])
    for (const { totalNanos, dayNanos, heldNanos, heldRequests } of [account, await ledger.workspaceAccount('wrk_1')]) {
      const spent = 2n * closing.costNanos
      assert.deepEqual([totalNanos, dayNanos, heldNanos, heldRequests], [spent, spent, 0n, 0])
    }
    const [sum] = await ledger.activity(query)
    assert.deepEqual([sum?.requestCount, sum?.costNanos, sum?.usage?.inputTokens], [2, 2n * closing.costNanos, 18n])
  })

  rule('a reported usage of zero is kept, and is not the same as no report', async (store, clock) => {
    await using ledger = await store.open(clock)
    await ledger.open(opening, maxCost, undefined)
    const usage = create(UsageSchema)
    await ledger.close([{ ...closing, status: Status.FAILED, usage, error: 'PROVIDER_TIMEOUT' }])
    const row = await ledger.get('wrk_1', 'req_1')
    assert.deepEqual([row?.usage, row?.error], [usage, 'PROVIDER_TIMEOUT'])
  })

  rule(
    'rows of a process that is gone are closed when the ledger is opened, with what was known of them',
    async (store, clock) => {
      {
        await using ledger = await store.open(clock)
        for (const requestId of ['req_1', 'req_2', 'req_3']) {
          await ledger.open({ ...opening, requestId }, maxCost, undefined)
        }
        await ledger.note([{ workspaceId: 'wrk_1', requestId: 'req_1', outputTokens: 4n }])
        await ledger.close([{ ...closing, requestId: 'req_2' }])
        await ledger.settle()
        assert.equal((await ledger.get('wrk_1', 'req_1'))?.status, Status.OPEN)
      }
      clock.time = 5_000
      await using ledger = await store.open(clock)
      const rows = await Promise.all(['req_1', 'req_2', 'req_3'].map((requestId) => ledger.get('wrk_1', requestId)))
      const used = (outputTokens: bigint) => create(UsageSchema, { inputTokens: 3n, outputTokens, estimated: true })
      assert.deepEqual(
        rows.map((row) => [row?.status, row?.error, row?.finishTime, row?.usage, row?.costNanos]),
        [
          [Status.ABORTED, 'PROCESS_LOST', 5_000, used(4n), 11n],
          [Status.COMPLETED, undefined, 1_000, closing.usage, closing.costNanos],
          [Status.ABORTED, 'PROCESS_LOST', 5_000, used(0n), 3n],
        ],
      )
      const [account] = await ledger.accounts('wrk_1', ['key_1'])
      const spent = closing.costNanos + 14n
      assert.deepEqual([account?.totalNanos, account?.heldNanos, account?.heldRequests], [spent, 0n, 0])
      assert.equal((await ledger.workspaceAccount('wrk_1')).totalNanos, spent)
    },
  )
}
