import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaitingParents } from './waiting-parents.ts'

const session = (workspace: string, sessionId: string) => ({ workspace, sessionId })

test('a limited number of sessions wait for others, in all and per workspace; one that waits may wait for more', () => {
  const parents = new WaitingParents(3, 2)
  const first = parents.enter(session('a', 'ses_1'))
  const second = parents.enter(session('a', 'ses_2'))
  assert.equal(parents.enter(session('a', 'ses_3')), undefined, 'of one workspace')
  const again = parents.enter(session('a', 'ses_1'))
  const third = parents.enter(session('b', 'ses_1'))
  assert.equal(parents.enter(session('c', 'ses_1')), undefined, 'of all')
  assert.ok([first, second, third, again].every(Boolean))

  first?.[Symbol.dispose]()
  assert.equal(parents.enter(session('a', 'ses_3')), undefined, 'another call of it waits still')
  again?.[Symbol.dispose]()
  using _ = parents.enter(session('a', 'ses_3'))
  assert.ok(_)
})

test('a parent that goes on waiting after a takeover is counted, and not refused', () => {
  const parents = new WaitingParents(1, 1)
  const returned = [1, 2].map((number) => parents.return(session('a', `ses_${number}`)))
  assert.equal(parents.enter(session('a', 'ses_3')), undefined)
  for (const place of returned) place[Symbol.dispose]()
  assert.ok(parents.enter(session('a', 'ses_3')))
})
