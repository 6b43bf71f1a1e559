import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import { type MediaPart, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { generationRequest, message, part, type RequestInit } from '#test/support/generation.ts'
import { accountAt, dayOf, EMPTY_ACCOUNT, holding, minuteOf, monthOf, releasing, settling, weekOf } from './account.ts'
import { admit, highestCost } from './admission.ts'
import { inputTokensOf } from './estimate.ts'

const NO_TERMS = create(KeyTermsSchema)
const MAX_COST = {
  inputTokens: 3n,
  outputTokens: 100n,
  isFixed: false,
  prices: { inputNanos: 500_000n, outputNanos: 1n },
}

test('weeks begin on Mondays and months on their first day, before the epoch as well', () => {
  for (const [date, monday, first] of [
    ['2026-01-01', '2025-12-29', '2026-01-01'],
    ['2026-03-01', '2026-02-23', '2026-03-01'],
    ['2028-02-29', '2028-02-28', '2028-02-01'],
    ['1969-12-31', '1969-12-29', '1969-12-01'],
  ] as const) {
    const day = dayOf(Date.parse(date))
    assert.deepEqual([weekOf(day), monthOf(day)], [dayOf(Date.parse(monday)), dayOf(Date.parse(first))])
  }
})

test('a clock that is put back a little ends no period; one that was far ahead refuses nothing once it is right', () => {
  const hold = { nanos: 0n, inputTokens: 0n, minute: 0 }
  const account = settling(
    holding(EMPTY_ACCOUNT, hold, 10 ** 12),
    hold,
    { nanos: 5n, inputTokens: 1n, outputTokens: 1n },
    10 ** 12,
  )
  assert.equal(accountAt(account, 10 ** 12 - 60_000), account)
  const now = 10 ** 12 - 10 ** 9
  const after = accountAt(account, now)
  assert.deepEqual([after.minuteRequests, after.minuteTokens, after.minute], [0, 0n, minuteOf(now)])
  assert.deepEqual([after.day, after.dayNanos, after.weekNanos, after.monthNanos], [dayOf(now), 5n, 5n, 5n])
  assert.equal(accountAt(after, now + 86_400_000).dayNanos, 0n)
  const terms = { ...NO_TERMS, requestsPerMinute: 1 }
  assert.equal(admit({ key: account, workspace: account }, MAX_COST, terms, now).admitted, true)
})

test('releasing the hold of a request that was refused elsewhere restores the account', () => {
  const hold = { nanos: 7n, inputTokens: 3n, minute: 2 }
  const now = 150_000
  const before = accountAt(EMPTY_ACCOUNT, now)
  assert.deepEqual(releasing(holding(before, hold, now), hold, now), before)
})

test('costs are rounded up, so that a limit is never passed by a fraction', () => {
  assert.equal(highestCost(MAX_COST), 2n)
  assert.equal(highestCost({ ...MAX_COST, inputTokens: 0n, outputTokens: 0n }), 0n)
  assert.equal(highestCost({ ...MAX_COST, extraNanos: 7n }), 9n)
  assert.equal(highestCost({ ...MAX_COST, extraNanos: 10n ** 20n }), 10n ** 16n)
})

test('a remainder that pays for less output than providers generate counts as nothing', () => {
  const prices = { inputNanos: 0n, outputNanos: 1_000_000n }
  const of = (limitNanos: bigint) =>
    admit({ key: EMPTY_ACCOUNT, workspace: EMPTY_ACCOUNT }, { ...MAX_COST, prices }, { ...NO_TERMS, limitNanos }, 0)
  const cut = of(16n)
  assert.deepEqual([cut.admitted && cut.outputTokens, of(15n).admitted, of(100n).admitted], [16n, false, true])
  const besides = { ...MAX_COST, prices, extraNanos: 10n }
  const less = admit({ key: EMPTY_ACCOUNT, workspace: EMPTY_ACCOUNT }, besides, { ...NO_TERMS, limitNanos: 30n }, 0)
  assert.deepEqual(less.admitted && [less.outputTokens, less.hold.nanos], [20n, 30n])
})

test('the lower of two limits decides', () => {
  const prices = { inputNanos: 0n, outputNanos: 1_000_000n }
  for (const [limitNanos, workspaceLimitNanos, limit] of [
    [5n, 9n, 'key'],
    [9n, 5n, 'workspace'],
    [undefined, 5n, 'workspace'],
  ] as const) {
    const terms = { ...NO_TERMS, limitNanos, workspaceLimitNanos }
    const refused = admit({ key: EMPTY_ACCOUNT, workspace: EMPTY_ACCOUNT }, { ...MAX_COST, prices }, terms, 0)
    assert.ok(!refused.admitted && refused.refusal.kind === 'money')
    assert.deepEqual([refused.refusal.limit, refused.refusal.leftNanos], [limit, 5n])
  }
})

test('input counts a token for 3 bytes of all texts, tools and files; pictures and addresses have usual numbers', () => {
  const request = (more: RequestInit) => Number(inputTokensOf(generationRequest({ messages: [text('')], ...more })))
  const text = (text: string) => message(Role.USER, part('text', { text }))
  const base = request({})
  const media = (kind: 'image' | 'file', source: NonNullable<MediaPart['source']>) =>
    request({ messages: [message(Role.USER, part(kind, { source }))] }) - base
  assert.equal(request({ messages: [text('x'.repeat(300))] }) - base, 100)
  assert.equal(request({ messages: [text('漢'.repeat(100))] }) - base, 100)
  const data = { case: 'data', value: new Uint8Array(300_000) } as const
  const url = { case: 'url', value: 'https://example.com/a' } as const
  assert.equal(media('image', { case: 'data', value: data.value.subarray(0, 300) }), 100)
  assert.equal(media('image', data), 1_600)
  assert.equal(media('image', url), 1_600)
  assert.equal(media('file', data), 100_000)
  assert.equal(media('file', url), 30_000)
  const long = 'x'.repeat(300)
  const tool = { name: 'look' }
  const extension = { format: 'f', headers: {}, body: { context_management: long } }
  for (const more of [
    { tools: [{ ...tool, description: long }] },
    { tools: [{ ...tool, parameters: { type: 'object', description: long } }] },
    { tools: [{ ...tool, custom: { syntax: 'lark', grammar: long } }] },
    { tools: [{ ...tool, namespace: { name: 'n', description: long } }] },
    { hostedTools: [{ format: 'f', definition: { type: 'web_search', allowed_domains: [long] } }] },
    { extensions: [extension] },
  ]) {
    assert.ok(request(more) - base >= 100, JSON.stringify(more))
  }
})
