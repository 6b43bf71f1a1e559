import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { admission, assistant, inboxEntry, newSession as input, request } from '#test/contract/session-store.support.ts'
import type { ChangeKind } from './change.ts'
import { admit } from './inbox/inputs.ts'
import { promoteItems } from './inbox/promotion.ts'
import { newSession } from './new-session.ts'
import { closeRequest, requestPermission } from './permission/permission-requests.ts'
import { Revision } from './revision.ts'
import { endRun, giveBack, interruptRun, recordStep } from './run.ts'
import { selectAgent } from './selection.ts'
import type { SessionState } from './session-state.ts'

const NOW = 1_000

/** What a decision changes for those who wait, in a session in that state. */
function changedBy(state: Partial<SessionState>, decide: (revision: Revision) => unknown): readonly ChangeKind[] {
  const newId = (prefix: string): string => `${prefix}_1`
  const before = newSession(input(), NOW, newId).revision.state
  const revision = new Revision({ ...before, ...state }, NOW, NOW, newId)
  decide(revision)
  revision.finish()
  return revision.changed
}

const NEW = { taken: undefined, full: false }
const leased = { running: true, fence: 1, leaseUntil: 2_000, claimableAt: 2_000 } as const
const admitted = (revision: Revision): unknown => admit(revision, NEW, admission('msg_1'))

test('an admission is work, unless the session has an owner', () => {
  assert.deepEqual(changedBy({}, admitted), ['work', 'run'])
  assert.deepEqual(changedBy(leased, admitted), ['run'])
  assert.deepEqual(changedBy({ due: true, claimableAt: 500 }, admitted), ['work'], 'whoever tried before may try again')
  const parked = (revision: Revision): unknown => admit(revision, NEW, { ...admission('msg_1'), wake: false })
  assert.deepEqual(changedBy({}, parked), [])
})

test('reports no change to waiters for what a run writes as it proceeds', () => {
  const record = { message: assistant('msg_step'), events: [] }
  assert.deepEqual(
    changedBy(leased, (revision) => recordStep(revision, undefined, record)),
    [],
  )
  const waiting = { steers: [inboxEntry(1)], queued: [], more: false }
  assert.deepEqual(
    changedBy(leased, (revision) => promoteItems(revision, waiting, 'step')),
    [],
  )
  assert.deepEqual(
    changedBy({}, (revision) => selectAgent(revision, 'plan')),
    [],
  )
})

test('an interrupt, a permission request and the end of a run are each reported as that', () => {
  assert.deepEqual(changedBy(leased, interruptRun), ['interrupt'])
  assert.deepEqual(
    changedBy(leased, (revision) => requestPermission(revision, request('per_1'))),
    ['permission'],
  )
  assert.deepEqual(
    changedBy(leased, (revision) => closeRequest(revision, 'per_1', PermissionReply.ONCE)),
    ['permission'],
  )
  assert.deepEqual(
    changedBy(leased, (revision) => endRun(revision, Outcome.SUCCEEDED, undefined)),
    ['run'],
  )
  assert.deepEqual(
    changedBy({ ...leased, due: true }, (revision) => endRun(revision, Outcome.SUCCEEDED, undefined)),
    ['work', 'run'],
  )
  assert.deepEqual(
    changedBy(leased, (revision) => giveBack(revision, 1)),
    ['work', 'run'],
  )
})
