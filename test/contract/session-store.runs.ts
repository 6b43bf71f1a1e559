import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { PartRef_Kind as Kind } from '#gen/portico/session/v1/event_pb.js'
import { AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import { Delivery, Outcome, PermissionReply, TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { textResult } from '#services/session/domain/generation/call-outcome.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import { stepPart } from '#test/support/step-part.ts'
import {
  acquire,
  admit,
  assistant,
  begin,
  callIn,
  get,
  MODEL,
  messages,
  names,
  newSession,
  plain,
  request,
  type StoreTest,
  toolPart,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

const TOKENS = create(TokenUsageSchema, { input: 10, output: 5, reasoning: 3, cacheRead: 2, cacheWrite: 1 })

/** Steps and the end of a run. */
export function runCases(test: StoreTest): void {
  test('the states of a step are one message, and their events follow each other', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    clock.advance(3)
    const part = { messageId: 'msg_step', kind: Kind.TEXT, ordinal: 0 } as const
    const events = await eventsOf(store, 3, async () => {
      const first = await store.recordStep(lease, {
        message: assistant('msg_step'),
        events: [{ case: 'stepStarted', value: { messageId: 'msg_step', agent: 'build', model: MODEL } }],
      })
      const second = await store.recordStep(lease, {
        message: assistant('msg_step', { parts: [stepPart('text', { text: 'Hi' })], completeTime: clock.now() }),
        events: [
          { case: 'partStarted', value: { part } },
          { case: 'partEnded', value: { part, text: 'Hi' } },
        ],
      })
      assert.ok(second > first)
    })
    assert.deepEqual(
      events.map(({ event }) => event.case),
      ['stepStarted', 'partStarted', 'partEnded'],
    )
    assert.deepEqual(names(await messages(store)), ['msg_first', 'msg_step'])
    const stored = await store.getMessage(W, 'ses_1', 'msg_step')
    const parts = [stepPart('text', { text: 'Hi' })]
    assert.deepEqual(plain(stored?.message), plain(assistant('msg_step', { parts, completeTime: clock.now() })))
    assert.equal((await get(store)).updateTime, clock.now())
  })

  test('recording a step returns the number of the last event written', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    let last = 0
    const [event] = await eventsOf(store, 1, async () => {
      const events = [{ case: 'stepStreamed', value: { messageId: 'msg_step' } }] as const
      last = await store.recordStep(lease, { message: assistant('msg_step'), events })
    })
    assert.equal(event?.seq, last)
  })

  test('costs and tokens add up, exactly and beyond what a double holds', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const costNanos = 9_007_199_254_740_993n
    const message = assistant('msg_step', { costNanos, tokens: TOKENS, completeTime: 1 })
    const ended = { messageId: 'msg_step', finish: 'stop', costNanos, tokens: TOKENS }
    const [event] = await eventsOf(store, 1, () =>
      store.recordStep(lease, {
        message,
        events: [{ case: 'stepEnded', value: ended }],
        usage: { costNanos, tokens: TOKENS },
      }),
    )
    const usage = { costNanos, tokens: TOKENS }
    const error = structuredError('aborted', 'cut')
    const more = { costNanos: 2n, tokens: TOKENS }
    const failed = { messageId: 'msg_next', error, finish: 'error', usage: more }
    const [second] = await eventsOf(store, 1, () =>
      store.recordStep(lease, {
        message: assistant('msg_next'),
        events: [{ case: 'stepFailed', value: failed }],
        usage: more,
      }),
    )
    assert.deepEqual(plain(event?.event.value), plain({ ...ended, sessionUsage: usage }))
    const tokens = create(TokenUsageSchema, { input: 20, output: 10, reasoning: 6, cacheRead: 4, cacheWrite: 2 })
    const sessionUsage = { costNanos: costNanos + 2n, tokens }
    assert.deepEqual(plain(second?.event.value), plain({ ...failed, sessionUsage }))
    const session = await get(store)
    assert.equal(session.costNanos, costNanos + 2n)
    assert.deepEqual(session.tokens, tokens)
    const stored = await store.getMessage(W, 'ses_1', 'msg_step')
    assert.deepEqual(plain(stored?.message), plain(message))
  })

  test('the end of a run is an event, an idle message, an outcome and a time', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    clock.advance(4)
    const error = structuredError('provider.unavailable', 'away', 503)
    const [event] = await eventsOf(store, 1, async () => {
      await store.endRun(lease, Outcome.FAILED, error)
    })
    assert.deepEqual(plain(event?.event), plain({ case: 'executionEnded', value: { outcome: Outcome.FAILED, error } }))
    const last = (await messages(store)).at(-1)?.message
    assert.equal(last?.createTime, clock.now())
    assert.deepEqual(plain(last?.kind), { case: 'idle', value: { outcome: Outcome.FAILED, error: plain(error) } })
    const session = await get(store)
    assert.deepEqual([session.outcome, session.idleTime], [Outcome.FAILED, clock.now()])
    assert.notEqual(session.updateTime, clock.now(), 'the end of a run is no activity')
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    assert.deepEqual(await store.listActive(W), [])
  })

  test('the time of idleness grows with each end, even when the clock stands', async (fixture) => {
    const { store, longMs } = fixture
    await store.endRun(await begin(fixture), Outcome.SUCCEEDED)
    const first = (await get(store)).idleTime ?? 0
    await admit(store, Delivery.STEER, 'msg_2')
    const lease = await acquire(store, longMs)
    await store.promote(lease, 'idle')
    await store.endRun(lease, Outcome.SUCCEEDED)
    assert.equal((await get(store)).idleTime, first + 1)
  })

  test('inputs that are due when a run ends are due for the next owner, however it ended', async (fixture) => {
    const { store, longMs } = fixture
    let lease = await begin(fixture)
    const ids = ['msg_q1', 'msg_q2', 'msg_q3']
    await admit(store, Delivery.QUEUE, ...ids)
    for (const [i, outcome] of [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.INTERRUPTED].entries()) {
      await store.endRun(lease, outcome)
      assert.equal(await store.isBusy(W, 'ses_1'), true)
      lease = await acquire(store, longMs)
      assert.equal(lease.unfinished, false)
      assert.deepEqual(names((await store.promote(lease, 'idle')).messages), [ids[i]])
    }
    await store.endRun(lease, Outcome.SUCCEEDED)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
  })

  test('a steer that came too late for the last step begins the next run', async (fixture) => {
    const { store, longMs } = fixture
    const first = await begin(fixture)
    await admit(store, Delivery.STEER, 'msg_late')
    await store.endRun(first, Outcome.SUCCEEDED)
    const lease = await acquire(store, longMs)
    const events = await eventsOf(store, 2, () => store.promote(lease, 'idle'))
    assert.deepEqual(
      events.map(({ event }) => event.case),
      ['executionStarted', 'inboxDelivered'],
    )
  })

  test('an abandoned run has failed; other due inputs stay due', async (fixture) => {
    const { store, longMs } = fixture
    const error = structuredError('internal', 'never got on')
    const lease = await begin(fixture)
    await admit(store, Delivery.STEER, 'msg_late')
    const [event] = await eventsOf(store, 1, () => store.abandonRun(lease, error))
    assert.deepEqual(plain(event?.event), plain({ case: 'executionEnded', value: { outcome: Outcome.FAILED, error } }))
    assert.equal((await get(store)).outcome, Outcome.FAILED)
    const next = await acquire(store, longMs)
    assert.deepEqual([next.unfinished, next.acquisitions], [false, 1])
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_late'])
  })

  test('inputs that never become a run are abandoned as one, and wait for the next wake', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, Delivery.QUEUE, 'msg_1')
    const lease = await acquire(store, longMs)
    const events = await eventsOf(store, 2, () => store.abandonRun(lease, structuredError('internal', '')))
    assert.deepEqual(
      events.map(({ event }) => event.case),
      ['executionStarted', 'executionEnded'],
    )
    assert.deepEqual(names(await messages(store)), ['idle'])
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await admit(store, Delivery.STEER, 'msg_2')
    const next = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_2'])
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_1'])
  })

  test('settles tool calls, the step and requests that an older owner left', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    const done = toolPart('call_done', 'completed', { content: [textResult('read')] })
    const thought = stepPart('reasoning', { text: 'hm', createTime: 1 })
    const parts = [thought, done, toolPart('call_ran', 'running'), toolPart('call_wrote', 'streaming')]
    await store.recordStep(lease, { message: assistant('msg_old', { completeTime: 5, finish: 'stop' }), events: [] })
    await store.recordStep(lease, {
      message: assistant('msg_step', { parts, costNanos: 7n, tokens: TOKENS }),
      events: [],
    })
    await store.requestPermission(lease, request('per_1'))
    clock.advance(8)
    const events = await eventsOf(store, 4, () => store.settleAborted(lease))
    const { costNanos, tokens } = await get(store)
    assert.deepEqual([costNanos, tokens], [7n, TOKENS])
    assert.deepEqual(
      events.map(({ event }) => [
        event.case,
        event.value !== undefined && 'callId' in event.value ? event.value.callId : '',
        event.value !== undefined && 'error' in event.value ? event.value.error?.type : '',
      ]),
      [
        ['toolFailed', 'call_ran', 'aborted'],
        ['toolFailed', 'call_wrote', 'aborted'],
        ['stepFailed', '', 'aborted'],
        ['permissionReplied', '', ''],
      ],
    )
    const message = (await store.getMessage(W, 'ses_1', 'msg_step'))?.message
    assert.ok(message?.kind.case === 'assistant')
    const { error, completeTime, parts: settled } = message.kind.value
    assert.deepEqual([error?.type, completeTime], ['aborted', clock.now()])
    const [reasoning, kept, ran, wrote] = settled
    assert.deepEqual(reasoning, stepPart('reasoning', { text: 'hm', createTime: 1, completeTime: clock.now() }))
    assert.deepEqual(plain(kept), plain(done))
    for (const part of [ran, wrote]) {
      const { state, error, completeTime } = callIn(part)
      assert.deepEqual([state, error?.type, completeTime], [State.ERROR, 'aborted', clock.now()])
    }
    const old = (await store.getMessage(W, 'ses_1', 'msg_old'))?.message
    assert.deepEqual(plain(old), plain(assistant('msg_old', { completeTime: 5, finish: 'stop' })))
    assert.deepEqual(await store.listPermissionRequests(W), [])
    assert.equal((await store.readPermissionAnswer(lease, 'per_1'))?.reply, PermissionReply.REJECT)
  })

  test('settling twice writes nothing the second time', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.recordStep(lease, { message: assistant('msg_step'), events: [] })
    const events = await eventsOf(store, 2, async () => {
      await store.settleAborted(lease)
      await store.settleAborted(lease)
      await store.endRun(lease, Outcome.FAILED)
    })
    assert.deepEqual(
      events.map(({ event }) => event.case),
      ['stepFailed', 'executionEnded'],
    )
  })
}
