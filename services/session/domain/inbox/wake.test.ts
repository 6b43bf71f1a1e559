import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Delivery, Outcome } from '#gen/portico/session/v1/session_pb.js'
import { admission, admitter, inboxEntry, newSession as input, plain } from '#test/contract/session-store.support.ts'
import { beginStep } from '../begin-step.ts'
import type { InboxEntry, WaitingInputs } from '../inbox.ts'
import { messageOf } from '../message.ts'
import { newSession } from '../new-session.ts'
import { Revision } from '../revision.ts'
import { type CutOff, endCutOff, endRun, giveBack, interruptRun } from '../run.ts'
import type { SessionState } from '../session-state.ts'
import { admit } from './inputs.ts'
import { promoteItems } from './promotion.ts'
import { resumeRun } from './wake.ts'

const NOW = 100_000

function revisionOf(state: Partial<SessionState>, now = NOW): Revision {
  const newId = (prefix: string): string => `${prefix}_1`
  const before = newSession(input(), now, newId).revision.state
  return new Revision({ ...before, ...state }, now, now, newId)
}

const inbox = (...items: InboxEntry[]): WaitingInputs => ({
  steers: items.filter(({ item }) => item.delivery === Delivery.STEER),
  queued: items.filter(({ item }) => item.delivery === Delivery.QUEUE).slice(0, 2),
  more: false,
})

const NEW = { taken: undefined, full: false }
const running = { running: true, fence: 1, leaseUntil: NOW + 10_000 } as const
const woken = (at: number, more = {}) =>
  ({ due: true, wake: { at, steersOnly: false, resume: false, ...more } }) as const

test('an interrupt that resumes is due for steers and the next moves, not for queued inputs', () => {
  const cases: [InboxEntry[], boolean][] = [
    [[], false],
    [[inboxEntry(1, 'prompt', Delivery.QUEUE)], false],
    [[inboxEntry(1, 'prompt', Delivery.QUEUE), inboxEntry(2, 'move', Delivery.QUEUE)], false],
    [[inboxEntry(1, 'move', Delivery.QUEUE), inboxEntry(2, 'prompt', Delivery.QUEUE)], true],
    [[inboxEntry(1, 'prompt', Delivery.QUEUE), inboxEntry(2, 'prompt', Delivery.STEER)], true],
    [[inboxEntry(1, 'prompt', Delivery.QUEUE), inboxEntry(2, 'move', Delivery.STEER)], true],
  ]
  for (const [items, due] of cases) {
    for (const state of [running, {}, woken(NOW)]) {
      const revision = revisionOf(state)
      assert.equal(interruptRun(revision, inbox(...items)), 'running' in state || 'due' in state)
      assert.equal(revision.state.due, due)
      assert.equal(revision.state.interruptRequested, 'running' in state)
    }
  }
})

test('a session due for steers leaves queued inputs where they are, until something else wakes it', () => {
  const waiting = inbox(
    inboxEntry(1, 'move', Delivery.QUEUE),
    inboxEntry(2, 'prompt', Delivery.QUEUE),
    inboxEntry(3, 'prompt', Delivery.STEER),
  )
  const steersOnly = woken(NOW, { steersOnly: true })
  const first = revisionOf(steersOnly)
  assert.equal(promoteItems(first, waiting, 'idle').control, true)
  assert.equal(first.state.due, true)
  const rest = inbox(inboxEntry(2, 'prompt', Delivery.QUEUE), inboxEntry(3, 'prompt', Delivery.STEER))
  const second = revisionOf(steersOnly)
  assert.deepEqual(
    promoteItems(second, rest, 'idle').messages.map(({ message }) => message.messageId),
    ['msg_3'],
  )
  assert.equal(second.state.due, false)
  const other = revisionOf(steersOnly)
  admit(other, NEW, admission('msg_4'))
  for (const [left, entered] of [
    [rest, ['msg_3']],
    [inbox(inboxEntry(2, 'prompt', Delivery.QUEUE)), ['msg_2']],
  ] as const) {
    const { messages } = promoteItems(other, left, 'idle')
    assert.deepEqual(
      messages.map(({ message }) => message.messageId),
      entered,
    )
  }
})

test('no queued input enters while a steer waits, unless that steer waits behind a control item', () => {
  const cases: [items: InboxEntry[], entered: string[]][] = [
    [
      [
        inboxEntry(1, 'prompt', Delivery.QUEUE),
        inboxEntry(2, 'prompt', Delivery.STEER),
        inboxEntry(3, 'prompt', Delivery.STEER),
      ],
      ['msg_2', 'msg_3'],
    ],
    [[inboxEntry(1, 'prompt', Delivery.STEER), inboxEntry(2, 'prompt', Delivery.QUEUE)], ['msg_1']],
    [[inboxEntry(1, 'prompt', Delivery.QUEUE), inboxEntry(2, 'prompt', Delivery.QUEUE)], ['msg_1']],
    [
      [
        inboxEntry(1, 'prompt', Delivery.QUEUE),
        inboxEntry(2, 'move', Delivery.STEER),
        inboxEntry(3, 'prompt', Delivery.STEER),
      ],
      ['msg_1'],
    ],
    [
      [
        inboxEntry(1, 'prompt', Delivery.QUEUE),
        inboxEntry(2, 'prompt', Delivery.STEER),
        inboxEntry(3, 'move', Delivery.STEER),
      ],
      ['msg_2'],
    ],
    [[inboxEntry(1, 'move', Delivery.QUEUE), inboxEntry(2, 'prompt', Delivery.STEER)], ['msg_1']],
    [[inboxEntry(1, 'prompt', Delivery.STEER), inboxEntry(2, 'move', Delivery.QUEUE)], ['msg_1']],
  ]
  for (const [items, entered] of cases) {
    const revision = revisionOf(woken(NOW))
    const { messages } = promoteItems(revision, inbox(...items), 'idle')
    const ids = messages.map(({ message }) => message.messageId)
    assert.deepEqual([ids, revision.state.due], [entered, true], items.map((each) => each.item.delivery).join())
  }
})

test('a resume is charged to its caller; a run that goes on, and ends by itself, is only joined', () => {
  const other = { ...admitter, apiKeyId: 'key_2' }
  const cases: [Partial<SessionState>, Outcome, boolean][] = [
    [running, Outcome.SUCCEEDED, false],
    [running, Outcome.FAILED, false],
    [running, Outcome.INTERRUPTED, true],
    [{ ...running, interruptRequested: true }, Outcome.INTERRUPTED, true],
    [{ ...running, interruptRequested: true }, Outcome.FAILED, true],
  ]
  const { session } = newSession(input(), NOW, (prefix) => `${prefix}_1`)
  const reads = { session, waiting: inbox(), transcript: [] }
  for (const [state, outcome, resumes] of cases) {
    const revision = revisionOf({ ...state, lastAdmitter: admitter })
    resumeRun(revision, other)
    endRun(revision, outcome, undefined)
    const { due, wake, lastAdmitter } = revision.state
    assert.deepEqual([due, wake?.resume, lastAdmitter], [true, resumes, admitter])
    assert.deepEqual(wake?.resumer, resumes ? other : undefined)
    const { payload } = admission('msg_1')
    const messages = [messageOf({ messageId: 'msg_1', createTime: 0 }, 'user', payload.value)]
    beginStep(revision, reads, { messages, bytes: 0, contextLength: undefined, limited: false, full: false })
    assert.deepEqual(
      [revision.state.running, revision.state.lastAdmitter],
      resumes ? [true, other] : [false, admitter],
      `${JSON.stringify(state)} ${outcome}`,
    )
  }
})

test('an admission keeps a requested resume, and an interrupt drops it', () => {
  const revision = revisionOf({})
  resumeRun(revision, admitter)
  admit(revision, NEW, admission('msg_1'))
  assert.deepEqual([revision.state.wake?.resume, revision.state.wake?.resumer], [true, admitter])
  interruptRun(revision)
  admit(revision, NEW, admission('msg_2'))
  assert.equal(revision.state.wake?.resume, false)
})

test('a run that was cut off ends as interrupted; inputs that were woken before that are parked, and later ones are due', () => {
  const lease = { leaseMs: 12_000, renewMs: 2_000 }
  const cases: [string, CutOff, at: number, due: boolean][] = [
    ['given back, woken before this process', { ...lease, heldUntil: 0, upMs: 5_000 }, NOW - 5_001, false],
    ['given back, woken since', { ...lease, heldUntil: 0, upMs: 5_000 }, NOW - 4_999, true],
    ['and in the same millisecond', { ...lease, heldUntil: 0, upMs: 5_000.9 }, NOW - 5_001, true],
    ['woken while its owner lived', { ...lease, heldUntil: NOW - 1_000, upMs: 90_000 }, NOW - 13_000, false],
    ['woken before the owner had to renew', { ...lease, heldUntil: NOW - 1_000, upMs: 90_000 }, NOW - 11_000, false],
    ['woken when it did not', { ...lease, heldUntil: NOW - 1_000, upMs: 90_000 }, NOW - 10_999, true],
    ['woken then, and waited for this process', { ...lease, heldUntil: NOW - 1_000, upMs: 500 }, NOW - 10_999, false],
  ]
  for (const [title, cutOff, at, due] of cases) {
    const revision = revisionOf({ ...running, ...woken(at) })
    endCutOff(revision, cutOff)
    const { running: runs, outcome, leaseUntil } = revision.state
    assert.deepEqual([revision.state.due, runs, outcome, leaseUntil], [due, false, Outcome.INTERRUPTED, 0], title)
    const reasons = revision.writes.flatMap((write) => (write.type === 'event' ? [plain(write.event.event)] : []))
    assert.deepEqual(reasons, [{ case: 'executionEnded', value: { outcome: Outcome.INTERRUPTED, reason: 'shutdown' } }])
  }
  const asked = revisionOf({ ...running, interruptRequested: true })
  endCutOff(asked, { ...lease, heldUntil: 0, upMs: 0 })
  const ended = asked.writes.flatMap((write) => (write.type === 'event' ? [write.event.event.value] : []))
  assert.ok(ended.some((value) => value !== undefined && 'reason' in value && value.reason === 'user'))
})

test('a lease that is given back to end a run parks what waits, unless somebody else has the session', () => {
  const state = { ...running, ...woken(NOW) }
  for (const [fence, park, due] of [
    [1, true, false],
    [1, false, true],
    [0, true, true],
  ] as const) {
    const revision = revisionOf(state)
    giveBack(revision, fence, { park })
    assert.equal(revision.state.due, due, `${fence} ${park}`)
  }
  const idle = revisionOf({ ...state, running: false })
  giveBack(idle, 1, { park: true })
  assert.equal(idle.state.due, true)
})
