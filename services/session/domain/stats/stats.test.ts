import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SessionStatsSchema, ToolUsageListSchema } from '#gen/portico/session/v1/stats_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { plain } from '#test/support/inference.ts'
import { NO_TOKENS } from '../session.ts'
import { Calendar } from './calendar.ts'
import { Durations } from './durations.ts'
import { type CountedActivity, Stats } from './stats.ts'

const DAY = 86_400_000
const model = (modelId: string) => JSON.stringify({ providerId: 'p', modelId })

function step(timeCreated: number, changes: Partial<CountedActivity> = {}): CountedActivity {
  const tokens = { ...NO_TOKENS, input: 2, output: 1 }
  const counted = {
    session: 1,
    isRoot: true,
    type: 'step',
    model: model('a'),
    tokens,
    costNanos: 5n,
    calls: [],
  } as const
  return { ...counted, timeCreated, ...changes }
}

function statsOf(...activities: CountedActivity[]): Stats {
  const stats = new Stats(Calendar.of('UTC') as Calendar)
  for (const activity of activities) stats.add(activity)
  return stats
}

test('the streak is the longest run of days with a step; prompts do not count', () => {
  const days = [0, 1, 3, 4, 5, 9].map((day) => step(day * DAY))
  const stats = statsOf(...days, step(2 * DAY, { type: 'prompt' }))
  assert.equal(stats.streak, 3)
  assert.deepEqual(stats.days.map(({ date }) => date).slice(0, 3), ['1970-01-01', '1970-01-02', '1970-01-04'])
  assert.equal(statsOf().streak, 0)
})

test('sessions are counted once, prompts of roots alone, and models by their tokens', () => {
  const large = { ...NO_TOKENS, cacheRead: 100 }
  const stats = statsOf(
    step(0, { type: 'prompt' }),
    step(1),
    step(2, { model: model('b'), tokens: large, costNanos: undefined }),
    step(3, { session: 2, isRoot: false, type: 'prompt' }),
    step(4, { session: 2, isRoot: false, tokens: undefined }),
  )
  assert.deepEqual([stats.sessions, stats.children, stats.prompts, stats.first], [1, 1, 1, 0])
  const [first, second] = stats.models
  assert.deepEqual([first?.model?.modelId, first?.stepCount, first?.costNanos], ['b', 1, 0n])
  assert.deepEqual([second?.model?.modelId, second?.stepCount, second?.costNanos], ['a', 2, 10n])
  assert.deepEqual(stats.total, {
    stepCount: 3,
    tokens: { ...NO_TOKENS, input: 2, output: 1, cacheRead: 100 },
    costNanos: 10n,
  })
})

test('compactions count by their usage, and are not steps', () => {
  const compaction = step(0, { session: 3, type: 'compaction', model: undefined })
  const stats = statsOf(compaction, step(1))
  assert.deepEqual([stats.sessions, stats.models.length, stats.days.length], [1, 1, 1])
  assert.deepEqual(stats.total, { stepCount: 1, tokens: { ...NO_TOKENS, input: 4, output: 2 }, costNanos: 10n })
})

test('sums of steps, of compactions and of both never exceed the numbers that the answer can show', () => {
  const tokens = { ...NO_TOKENS, input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER - 1 }
  const huge = { tokens, costNanos: 2n ** 63n - 1n }
  const compactions = [step(0, { type: 'compaction', ...huge }), step(1, { type: 'compaction', ...huge })]
  const stats = statsOf(...compactions, step(2, huge), step(3, huge), step(4, { ...huge, model: model('b') }))
  for (const sum of [stats.total, ...stats.models]) {
    assert.ok([sum.tokens?.input, sum.tokens?.output].every(Number.isSafeInteger))
    assert.ok(sum.costNanos <= 9n * 10n ** 18n)
  }
  assert.deepEqual(stats.total.tokens, { ...NO_TOKENS, input: 2 ** 53 - 1, output: 2 ** 53 - 1 })
})

test('tools are listed by their calls, with the median of those that ended', () => {
  const call = (name: string, end: 'succeeded' | 'failed' | 'unfinished', durationMs?: number) => ({
    name,
    end,
    durationMs,
  })
  const calls = [
    call('read', 'failed', 10),
    call('bash', 'succeeded', 4_000),
    call('read', 'succeeded', 20),
    call('read', 'unfinished'),
  ]
  const stats = statsOf(step(0, { calls }))
  assert.deepEqual(plain(stats.calls), { succeededCount: 2, failedCount: 1, unfinishedCount: 1 })
  assert.deepEqual(plain(stats.tools), [
    { name: 'read', calls: { succeededCount: 1, failedCount: 1, unfinishedCount: 1 }, medianDurationMs: 15 },
    { name: 'bash', calls: { succeededCount: 1, failedCount: 0, unfinishedCount: 0 }, medianDurationMs: 4_000 },
  ])
})

test('names at most as many models and tools as the proto allows', () => {
  const [models, tools] = [limitOf(SessionStatsSchema.field.models), limitOf(ToolUsageListSchema.field.tools)]
  const names = (count: number) => Array.from({ length: count }, (_, i) => `${i}`)
  const calls = names(tools.most + 1).map((name) => ({ name, end: 'failed', durationMs: undefined }) as const)
  const stats = statsOf(step(0, { calls }), ...names(models.most).map((name) => step(0, { model: model(name) })))
  assert.deepEqual([stats.models.length, stats.tools.length], [models.most, tools.most])
})

test('a median is that of all durations, however they are kept', () => {
  const durations = new Durations()
  assert.equal(durations.median(), undefined)
  const all: number[] = []
  for (let i = 0; i < 1_000; i++) {
    const ms = (i * 7_919) % 5_003
    all.push(ms)
    durations.add(ms)
    const sorted = all.toSorted((a, b) => a - b)
    const expected = ((sorted[(all.length - 1) >> 1] ?? 0) + (sorted[all.length >> 1] ?? 0)) / 2
    assert.equal(durations.median(), expected)
  }
})
