import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ForkOriginSchema, type Session } from '#gen/portico/session/v1/session_pb.js'
import type { DurableInit } from '#services/session/domain/event.ts'
import { durableEvent } from '#test/support/session-event.ts'
import { Ancestors } from './ancestors.ts'

const { signal } = new AbortController()

/** The ancestors of sessions with these parents, which a test changes, and the ids that were read. */
function ancestorsOf(parents: Record<string, string | undefined>) {
  const read: string[] = []
  const getSession = async (_: string, id: string) => {
    read.push(id)
    return id in parents ? ({ sessionId: id, parentId: parents[id] } as Session) : undefined
  }
  const ancestors = new Ancestors({ getSession }, 'wrk_1')
  const of = (sessionId: string, event?: DurableInit) => ancestors.of(durableEvent(1, event, { sessionId }), signal)
  return { of, read }
}

const created = (id: string, parentId: string | undefined): DurableInit => {
  return { case: 'sessionCreated', value: { session: { sessionId: id, parentId } } }
}

test('the ancestors of a session are read once', async () => {
  const { of, read } = ancestorsOf({ ses_c: 'ses_b', ses_b: 'ses_a', ses_a: undefined })
  assert.deepEqual(await of('ses_c'), ['ses_b', 'ses_a'])
  assert.deepEqual(await of('ses_c'), ['ses_b', 'ses_a'])
  assert.deepEqual(read, ['ses_c', 'ses_b', 'ses_a'])
})

test('a session that was created again under its id is below its new parent, or none', async () => {
  const parents: Record<string, string | undefined> = { ses_a: undefined, ses_b: undefined, ses_1: 'ses_a' }
  const { of } = ancestorsOf(parents)
  assert.deepEqual(await of('ses_1', created('ses_1', 'ses_a')), ['ses_a'])
  delete parents.ses_1
  assert.deepEqual(await of('ses_1', { case: 'sessionDeleted', value: { ancestorIds: ['ses_a'] } }), ['ses_a'])
  // Of a run that was cut off.
  assert.deepEqual(await of('ses_1'), [])
  parents.ses_1 = 'ses_b'
  assert.deepEqual(await of('ses_1', created('ses_1', 'ses_b')), ['ses_b'])
  assert.deepEqual(await of('ses_1'), ['ses_b'])
  const fork = create(ForkOriginSchema, { sessionId: 'ses_a', messageId: 'msg_1', through: true })
  assert.deepEqual(await of('ses_1', { case: 'sessionDeleted', value: { ancestorIds: ['ses_b'] } }), ['ses_b'])
  parents.ses_1 = undefined
  assert.deepEqual(await of('ses_1', { case: 'sessionForked', value: { fork } }), [])
})
