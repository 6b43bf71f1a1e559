import assert from 'node:assert/strict'
import { Delivery, Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { callsOf } from '#services/session/domain/message.ts'
import { UNANSWERED } from '#services/session/domain/permission/permission-requests.ts'
import { acquire, admit, assistant, begin, request, type StoreTest, toolPart, W } from './session-store.support.ts'

const NOT_BEGUN = 'The tool call was cut off before it began; it has done nothing'
const UNKNOWN = 'The tool call was cut off; what it has done is unknown'

/** What the settlement makes of calls whose requests an older owner has not seen answered. */
export function settlementCases(test: StoreTest): void {
  test('permission answers that the older owner may not have read count: their calls have not begun, or were refused', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    const reply = (id: string, answer: PermissionReply, message = '') =>
      store.replyPermission(W, 'ses_1', id, { reply: answer, message })
    const old = { messageId: 'msg_old', callId: 'ran' }
    await store.recordStep(lease, {
      message: assistant('msg_old', { parts: [toolPart('ran', 'running')] }),
      events: [],
    })
    await store.requestPermission(lease, request('per_old', old))
    await reply('per_old', PermissionReply.REJECT, 'not now')
    const settled = toolPart('ran', 'error', { completeTime: 5 })
    const ended = assistant('msg_old', { parts: [settled], completeTime: 5, finish: 'tool-calls' })
    await store.recordStep(lease, { message: ended, events: [] })
    const names = ['once', 'always', 'begun', 'second', 'late', 'waits', 'none', 'ran', 'refused'] as const
    const parts = names.map((id) => toolPart(id, 'running', { runTime: id === 'begun' ? 5 : undefined }))
    await store.recordStep(lease, { message: assistant('msg_step', { parts }), events: [] })
    for (const id of names) {
      if (id === 'none' || id === 'ran') continue
      await store.requestPermission(lease, request(`per_${id}`, { callId: id }))
      if (id !== 'waits' && id !== 'refused' && id !== 'late') {
        await reply(`per_${id}`, id === 'always' ? PermissionReply.ALWAYS : PermissionReply.ONCE)
      }
    }
    await store.requestPermission(lease, request('per_second_2', { callId: 'second' }))
    await store.closePermission(lease, 'per_late', PermissionReply.REJECT, UNANSWERED.message)
    await store.closePermission(lease, 'per_second_2', PermissionReply.REJECT, 'not that')
    await store.closePermission(lease, 'per_refused', PermissionReply.REJECT, '')
    await store.releaseLease(lease)
    const next = await acquire(store, longMs, 'own_2')
    await store.settleAborted(next)
    const message = (await store.getMessage(W, 'ses_1', 'msg_step'))?.message
    assert.ok(message?.kind.case === 'assistant')
    assert.deepEqual(
      callsOf(message.kind.value.parts).map(({ callId, error }) => [callId, error?.type, error?.message]),
      [
        ['once', 'aborted', NOT_BEGUN],
        ['always', 'aborted', NOT_BEGUN],
        ['begun', 'aborted', UNKNOWN],
        ['second', 'permission.corrected', 'The user refused the call: not that'],
        ['late', UNANSWERED.type, UNANSWERED.message],
        ['waits', 'aborted', NOT_BEGUN],
        ['none', 'aborted', UNKNOWN],
        ['ran', 'aborted', UNKNOWN],
        ['refused', 'permission.rejected', 'The user refused the call'],
      ],
    )
  })

  test('a rejection without a message ends a run that was cut off, and only parks what waited by then', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    const parts = [toolPart('call_1', 'running', { runTime: undefined }), toolPart('call_2', 'running')]
    await store.recordStep(lease, { message: assistant('msg_step', { parts }), events: [] })
    await store.requestPermission(lease, request('per_1'))
    await admit(store, Delivery.STEER, 'msg_before')
    await store.replyPermission(W, 'ses_1', 'per_1', { reply: PermissionReply.REJECT, message: '' })
    await admit(store, Delivery.QUEUE, 'msg_after')
    await store.releaseLease(lease)
    const next = await acquire(store, longMs, 'own_2')
    await store.settleAborted(next)
    const ends = await store.beginStep(next)
    assert.deepEqual(ends.next, { type: 'end', outcome: Outcome.INTERRUPTED, error: undefined })
    await store.endRun(next, Outcome.INTERRUPTED)
    const last = await acquire(store, longMs, 'own_2')
    const { messages } = await store.promote(last, 'idle')
    assert.deepEqual(
      messages.map(({ message }) => message.messageId),
      ['msg_before'],
    )
  })
}
