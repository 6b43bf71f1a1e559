import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { type KeyTerms, KeyTermsSchema, KeyTerms_Reset as Reset } from '#gen/portico/identity/v1/identity_pb.js'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { dayOf } from '#services/inference/domain/ledger/account.ts'
import type { Admission } from '#services/inference/domain/ledger/admission.ts'
import type { Clock } from '#shared/clock.ts'
import { closing, type LedgerStore, maxCost, opening } from './ledger.suite.ts'

/** Terms that limit nothing. */
export const NO_TERMS: KeyTerms = create(KeyTermsSchema)
/** What `maxCost` costs at most. */
const HIGHEST = 23n
const DAY_MS = 86_400_000

/** The promises of the Ledger port about accounts and limits. */
export function accountsSuite(
  name: string,
  makeStore: () => Promise<LedgerStore>,
  options: { skip: string | false },
): void {
  const rule = (title: string, run: (store: LedgerStore, clock: { time: number } & Clock) => Promise<void>): void => {
    test(`${name}: ${title}`, options, async () => {
      // Its monotonic time stands still, so that no lease of a slow machine runs out.
      const clock = { time: 1_000, now: () => clock.time, monotonic: () => 0 }
      await using store = await makeStore()
      await run(store, clock)
    })
  }

  rule('a limit admits as many concurrent requests as it pays for', async (store, clock) => {
    await using ledger = await store.open(clock)
    for (const [number, terms] of [
      { ...NO_TERMS, limitNanos: 5n * HIGHEST },
      { ...NO_TERMS, workspaceLimitNanos: 5n * HIGHEST },
      { ...NO_TERMS, limitNanos: 9n * HIGHEST, workspaceLimitNanos: 5n * HIGHEST + 1n },
      { ...NO_TERMS, concurrentRequests: 5 },
      { ...NO_TERMS, requestsPerMinute: 5 },
      { ...NO_TERMS, tokensPerMinute: 15n },
    ].entries()) {
      const workspaceId = `wrk_${number}`
      const ids = Array.from({ length: 40 }, (_, i) => `req_${i}`)
      const open = (requestId: string) => ledger.open({ ...opening, workspaceId, requestId }, maxCost, terms)
      const admissions = await Promise.all(ids.map(open))
      const admitted = ids.filter((_, i) => admissions[i]?.admitted)
      assert.equal(admitted.length, 5)
      const [key] = await ledger.accounts(workspaceId, ['key_1'])
      assert.deepEqual([key?.heldNanos, key?.heldRequests, key?.minuteRequests], [5n * HIGHEST, 5, 5])
      for (const id of ids) assert.equal((await ledger.get(workspaceId, id)) !== undefined, admitted.includes(id))
      await ledger.close(admitted.map((requestId) => ({ ...closing, workspaceId, requestId, costNanos: 1n })))
      const after = [...(await ledger.accounts(workspaceId, ['key_1'])), await ledger.workspaceAccount(workspaceId)]
      for (const { totalNanos, heldNanos, heldRequests } of after) {
        assert.deepEqual([totalNanos, heldNanos, heldRequests], [5n, 0n, 0])
      }
    }
  })

  rule('a refusal shows the amount left and what it pays for; an open maximum is cut to that', async (store, clock) => {
    await using ledger = await store.open(clock)
    const terms = { ...NO_TERMS, limitNanos: 100n }
    const large = { ...maxCost, outputTokens: 60n }
    const refusal = { kind: 'money', limit: 'key', leftNanos: 100n, neededNanos: 123n, affordableTokens: 48n }
    assert.deepEqual(await ledger.open(opening, large, terms), { admitted: false, refusal })
    const cut = await ledger.open(opening, { ...large, isFixed: false }, terms)
    assert.deepEqual(cut.admitted && [cut.outputTokens, cut.hold.nanos], [48n, 99n])
    const [account] = await ledger.accounts('wrk_1', ['key_1'])
    assert.equal(account?.heldNanos, 99n)
    const free = { ...large, prices: { inputNanos: 0n, outputNanos: 0n } }
    const next = (requestId: string) => ({ ...opening, requestId })
    assert.equal((await ledger.open(next('free'), free, terms)).admitted, true)
    assert.equal((await ledger.open(next('unknown'), { ...large, prices: undefined }, terms)).admitted, true)
    const late = await ledger.open(next('late'), { ...large, isFixed: false }, terms)
    assert.deepEqual(late.admitted ? 'admitted' : late.refusal.kind, 'money')
  })

  rule('a limit resets with its period, and spending counts in each period', async (store, clock) => {
    await using ledger = await store.open(clock)
    // A Saturday.
    clock.time = Date.UTC(2026, 0, 31, 12)
    const spend = async (requestId: string, limitReset: Reset): Promise<Admission['admitted']> => {
      const terms = { ...NO_TERMS, limitNanos: HIGHEST, limitReset }
      const { admitted } = await ledger.open({ ...opening, requestId }, maxCost, terms)
      if (admitted) await ledger.close([{ ...closing, requestId, costNanos: HIGHEST }])
      return admitted
    }
    assert.deepEqual([await spend('a', Reset.DAILY), await spend('b', Reset.DAILY)], [true, false])
    clock.time += DAY_MS
    const sunday = [await spend('c', Reset.WEEKLY), await spend('d', Reset.MONTHLY), await spend('e', Reset.DAILY)]
    assert.deepEqual(sunday, [false, true, false])
    clock.time += DAY_MS
    const monday = [await spend('f', Reset.NEVER), await spend('g', Reset.MONTHLY), await spend('h', Reset.WEEKLY)]
    assert.deepEqual(monday, [false, false, true])
    const [account] = await ledger.accounts('wrk_1', ['key_1'])
    assert.deepEqual(
      [account?.totalNanos, account?.monthNanos, account?.weekNanos, account?.dayNanos],
      [3n * HIGHEST, 2n * HIGHEST, HIGHEST, HIGHEST],
    )
  })

  rule('rates count by the minute; output counts when it is known', async (store, clock) => {
    await using ledger = await store.open(clock)
    const terms = { ...NO_TERMS, tokensPerMinute: 20n }
    await ledger.open(opening, maxCost, terms)
    await ledger.close([closing])
    const refused = await ledger.open({ ...opening, requestId: 'b' }, { ...maxCost, inputTokens: 4n }, terms)
    assert.deepEqual(refused, {
      admitted: false,
      refusal: { kind: 'rate', rate: 'tokens_per_minute', most: 20n, resetAt: 60_000 },
    })
    assert.equal((await ledger.open({ ...opening, requestId: 'c' }, maxCost, terms)).admitted, true)
    clock.time = 60_000
    assert.equal((await ledger.open({ ...opening, requestId: 'd' }, maxCost, terms)).admitted, true)
  })

  rule(
    'accounts and activity equal the sums of the rows, whatever is opened and closed at once',
    async (store, clock) => {
      await using ledger = await store.open(clock)
      const ids = Array.from({ length: 60 }, (_, i) => `req_${i}`)
      const keyOf = (i: number): string => `key_${i % 3}`
      await Promise.all(
        ids.map(async (requestId, i) => {
          const metadata: Record<string, string> = i % 2 === 0 ? { 'team.a"b': `t${i % 4}` } : {}
          await ledger.open({ ...opening, requestId, apiKeyId: keyOf(i), metadata }, maxCost, undefined)
          const end = { ...closing, requestId, apiKeyId: keyOf(i), costNanos: BigInt(i) }
          await ledger.close([i % 5 === 0 ? { ...end, status: Status.FAILED, usage: undefined } : end])
          await ledger.close([end])
        }),
      )
      const sumOf = (rest: number): bigint => BigInt(ids.reduce((sum, _, i) => (i % 3 === rest ? sum + i : sum), 0))
      const accounts = await ledger.accounts('wrk_1', ['key_0', 'key_1', 'key_2', 'key_9'])
      assert.deepEqual(
        accounts.map(({ totalNanos, dayNanos, heldRequests }) => [totalNanos, dayNanos, heldRequests]),
        [...[0, 1, 2].map((rest) => [sumOf(rest), sumOf(rest), 0]), [0n, 0n, 0]],
      )
      assert.equal((await ledger.workspaceAccount('wrk_1')).totalNanos, 1770n)
      const query = { workspaceId: 'wrk_1', day: dayOf(clock.time), keyId: undefined, metadataKey: undefined }
      const [all, ...none] = await ledger.activity(query)
      assert.deepEqual(none, [])
      assert.deepEqual([all?.providerId, all?.modelId, all?.metadataValue], ['openai', 'gpt', undefined])
      assert.deepEqual([all?.requestCount, all?.costNanos, all?.usage?.inputTokens], [60, 1770n, 48n * 9n])
      const ofKey = await ledger.activity({ ...query, keyId: 'key_1' })
      assert.deepEqual([ofKey[0]?.requestCount, ofKey[0]?.costNanos], [20, sumOf(1)])
      const groups = await ledger.activity({ ...query, metadataKey: 'team.a"b' })
      assert.deepEqual(
        groups.map(({ metadataValue, requestCount }) => [metadataValue, requestCount]),
        [
          [undefined, 30],
          ['t0', 15],
          ['t2', 15],
        ],
      )
      assert.deepEqual(await ledger.activity({ ...query, day: query.day + 1 }), [])
    },
  )
}
