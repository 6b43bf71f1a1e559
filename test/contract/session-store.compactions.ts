import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Compaction_Status as Status } from '#gen/portico/session/v1/message_pb.js'
import { CompactionRequestSchema, Delivery, Outcome, TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { structuredError } from '#services/session/domain/structured-error.ts'
import type { TestAdmission } from '#test/support/session-use-cases.ts'
import {
  acquire,
  admission,
  admit,
  assistant,
  begin,
  get,
  messages,
  moveAdmission,
  newSession,
  plain,
  type StoreTest,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

const compaction = (id: string, delivery = Delivery.STEER): TestAdmission => ({
  ...admission(id, { delivery }),
  payload: { case: 'compaction', value: create(CompactionRequestSchema) },
})

/** Compactions: how they wait, run and are settled. */
export function compactionCases(test: StoreTest): void {
  test('admits one compaction at a time, which its id names for good', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const first = await store.admitCompaction(W, compaction('msg_c'))
    assert.deepEqual(plain(first.payload), { case: 'compaction', value: {} })
    const [one, two] = await Promise.all(
      ['msg_d', 'msg_e'].map((id) => store.admitCompaction(W, compaction(id, Delivery.QUEUE))),
    )
    assert.deepEqual([one, two], [first, first])
    assert.deepEqual(
      (await store.inbox(W, 'ses_1', 0, 10)).map(({ item }) => item),
      [first],
    )
    await store.promote(lease, 'step')
    assert.deepEqual(await store.admitCompaction(W, compaction('msg_c')), first)
    await assert.rejects(store.admitCompaction(W, compaction('msg_first')), /PROMPT_CONFLICT/)
    assert.equal((await store.admitCompaction(W, compaction('msg_d'))).messageId, 'msg_d')
  })

  test('a steered compaction enters before the steers ahead of it, but never before a move', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.STEER, 'msg_s1')
    await store.moveSession(W, moveAdmission('msg_m1'))
    await admit(store, Delivery.STEER, 'msg_s2')
    await store.admitCompaction(W, compaction('msg_c'))
    const left = async () => (await store.inbox(W, 'ses_1', 0, 10)).map(({ item }) => item.messageId)
    const step = async () => {
      await store.promote(lease, 'step')
      return left()
    }
    assert.deepEqual(await step(), ['msg_m1', 'msg_s2', 'msg_c'])
    assert.deepEqual(await step(), ['msg_s2', 'msg_c'])
    assert.deepEqual(await step(), ['msg_s2'])
    assert.deepEqual(await step(), [])
  })

  test('a compaction begins a run on the account of its admitter, and ends it without continuing an older one', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await store.recordStep(lease, { message: assistant('msg_step', { streamTime: 1, completeTime: 1 }), events: [] })
    await store.requestInterrupt(W, 'ses_1')
    await store.endRun(lease, Outcome.INTERRUPTED)
    await store.admitCompaction(W, compaction('msg_c'))
    const next = await acquire(store, longMs)
    const { next: begun } = await store.beginStep(next)
    assert.equal(begun?.type === 'compaction' && begun.message.kind.value.status, Status.RUNNING)
    assert.deepEqual((await store.beginStep(next)).next, { type: 'end', outcome: Outcome.SUCCEEDED, error: undefined })
  })

  test('a compaction that an owner left running is settled as failed, and one that ended is not', async (fixture) => {
    const { store, longMs } = fixture
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1')
    const lease = await acquire(store, longMs)
    await store.beginStep(lease)
    const step = assistant('msg_step', { streamTime: 1, completeTime: 1 })
    await store.recordStep(lease, { message: step, events: [] })
    const start = await store.beginStep(lease, undefined, { full: true })
    assert.equal(start.next?.type, 'end')
    await admit(store, Delivery.STEER, 'msg_2')
    const { next } = await store.beginStep(lease, undefined, { full: true })
    assert.ok(next?.type === 'compaction')
    assert.deepEqual(plain(await running()), plain([next.message.kind.value]))
    const events = await eventsOf(store, 1, () => store.settleAborted(lease))
    const { messageId, kind } = next.message
    const { manual } = kind.value
    const error = structuredError('aborted', 'The compaction was cut off')
    assert.deepEqual(plain(events[0]?.event), plain({ case: 'compactionFailed', value: { messageId, manual, error } }))
    assert.deepEqual(
      (await running()).map(({ status, error }) => [status, error]),
      [[Status.FAILED, error]],
    )
    const again = await store.beginStep(lease, undefined, { full: true })
    assert.ok(again.next?.type === 'compaction')
    const tokens = create(TokenUsageSchema, { input: 1, output: 2, reasoning: 0, cacheRead: 0, cacheWrite: 0 })
    const model = create(ModelRefSchema, { providerId: 'p', modelId: 'm' })
    const before = await get(store)
    await store.finishCompaction(lease, again.next.message, { text: 'All', model, costNanos: 5n, tokens })
    const after = await get(store)
    assert.deepEqual(
      [after.costNanos - before.costNanos, (after.tokens?.output ?? 0) - (before.tokens?.output ?? 0)],
      [5n, 2],
    )
    await store.settleAborted(lease)
    assert.deepEqual(
      (await running()).map(({ status }) => status),
      [Status.FAILED, Status.COMPLETED],
    )
    async function running() {
      const kinds = (await messages(store)).map(({ message }) => message.kind)
      return kinds.flatMap((kind) => (kind.case === 'compaction' ? [kind.value] : []))
    }
  })
}
