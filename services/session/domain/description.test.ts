import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitter, newSession as input } from '#test/contract/session-store.support.ts'
import { describeSession } from './description.ts'
import { newSession } from './new-session.ts'
import { Revision } from './revision.ts'

test('an empty title that is sent again requests none while one is being generated', () => {
  const newId = (prefix: string) => `${prefix}_1`
  const { state } = newSession(input(), 1, newId).revision
  const titling = 'msg_0-title'
  const revision = () => new Revision({ ...state, titling, lastAdmitter: admitter }, 1, 1, newId)
  const description = { title: '', metadata: undefined, permissions: undefined }
  const same = revision()
  assert.equal(describeSession(same, description, { words: true, underWay: new Set([titling]) }), undefined)
  assert.ok(same.isEmpty)
  // Nobody looks for it any more.
  const lost = revision()
  assert.equal(describeSession(lost, description, { words: true, underWay: new Set() }), 'msg_1-title')
  assert.equal(lost.state.titling, 'msg_1-title')
})
