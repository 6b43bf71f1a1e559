import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { ModelRefSchema, PermissionRule_Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { PermissionReply, PermissionRulesetSchema } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { NO_TOKENS } from '#services/session/domain/session.ts'
import {
  admission,
  get,
  listed,
  messages,
  newSession,
  OTHER,
  plain,
  refusal,
  type StoreTest,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

const MODEL = create(ModelRefSchema, { providerId: 'portico', modelId: 'echo' })

/** Creating, reading, listing and selecting. */
export function sessionCases(test: StoreTest): void {
  test('a new session is answered whole, and read back the same', async ({ store, clock }) => {
    const input = newSession('ses_1', {
      title: 'A title 😀 with \u0000 in it',
      agent: 'build',
      model: { ...MODEL, variant: 'high' },
      metadata: { 'a.b': 1, $set: { nested: [true, null, 'x\u0000y'] }, constructor: {} },
      permissions: create(PermissionRulesetSchema, {
        rules: [{ action: 'edit', resource: '*', effect: PermissionRule_Effect.ASK }],
      }),
    })
    const session = await store.createSession(W, input)
    assert.deepEqual(
      plain(session),
      plain({
        ...input,
        costNanos: 0n,
        tokens: NO_TOKENS,
        createTime: clock.now(),
        updateTime: clock.now(),
      }),
    )
    assert.deepEqual(plain(await get(store)), plain(session))
  })

  test('distinguishes empty rules and metadata from absent ones', async ({ store }) => {
    await store.createSession(W, newSession('ses_none', { permissions: create(PermissionRulesetSchema), metadata: {} }))
    const session = await get(store, 'ses_none')
    assert.deepEqual([session.permissions?.rules, session.metadata], [[], {}])
    const bare = await store.createSession(W, newSession())
    assert.deepEqual([bare.permissions, bare.metadata], [undefined, undefined])
  })

  test('metadata may be nested deeper than any store nests', async ({ store }) => {
    const metadata = JSON.parse(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)
    await store.createSession(W, newSession('ses_1', { metadata }))
    assert.deepEqual((await get(store)).metadata, metadata)
  })

  test('an existing id answers that session unchanged, and writes no event', async ({ store, clock }) => {
    const first = await store.createSession(W, newSession('ses_1', { title: 'first' }))
    clock.advance(5)
    const events = await eventsOf(store, 1, async () => {
      const again = await store.createSession(W, newSession('ses_1', { title: 'second' }))
      assert.deepEqual(plain(again), plain(first))
      await store.createSession(W, newSession('ses_2'))
    })
    assert.equal(events[0]?.sessionId, 'ses_2')
  })

  test('16 concurrent creations of one id make one session', async ({ store }) => {
    const titles = Array.from({ length: 16 }, (_, i) => `title ${i}`)
    const made = await Promise.all(titles.map((title) => store.createSession(W, newSession('ses_1', { title }))))
    assert.equal(new Set(made.map(({ title }) => title)).size, 1)
  })

  test('a session does not exist for another workspace, which may use the same ids', async ({ store }) => {
    await store.createSession(W, newSession('ses_1', { title: 'mine' }))
    await store.admit(W, admission('msg_1'))
    assert.equal(await store.getSession(OTHER, 'ses_1'), undefined)
    assert.deepEqual(await listed(store, {}, OTHER), [])
    assert.equal(await store.listMessages(OTHER, 'ses_1', { limit: 10, order: Order.ASCENDING }), undefined)
    const missing = refusal('SESSION_NOT_FOUND', { session_id: 'ses_1' })
    await assert.rejects(store.isBusy(OTHER, 'ses_1'), missing)
    await assert.rejects(store.requestInterrupt(OTHER, 'ses_1'), missing)
    await assert.rejects(store.admit(OTHER, admission('msg_1')), missing)
    await assert.rejects(store.selectAgent(OTHER, 'ses_1', 'plan'), missing)
    await assert.rejects(
      store.replyPermission(OTHER, 'ses_1', 'per_1', { reply: PermissionReply.ONCE, message: '' }),
      missing,
    )
    await store.createSession(OTHER, newSession('ses_1', { title: 'theirs' }))
    assert.equal((await get(store)).title, 'mine')
    await store.admit(OTHER, admission('msg_1', { text: 'other' }))
  })

  test('a missing session is undefined where it is read and refused where it is written or inspected', async ({
    store,
  }) => {
    assert.equal(await store.getSession(W, 'ses_1'), undefined)
    assert.equal(await store.getMessage(W, 'ses_1', 'msg_1'), undefined)
    await assert.rejects(store.selectModel(W, 'ses_1', MODEL), refusal('SESSION_NOT_FOUND'))
    await assert.rejects(store.admit(W, admission('msg_1')), refusal('SESSION_NOT_FOUND'))
  })

  test('selecting an agent writes the selection, a message and an event', async ({ store, clock }) => {
    await store.createSession(W, newSession())
    clock.advance(7)
    const [first, second] = await eventsOf(store, 2, async () => {
      await store.selectAgent(W, 'ses_1', 'plan')
      await store.selectAgent(W, 'ses_1', 'plan')
    })
    assert.deepEqual(plain(first?.event), { case: 'agentSelected', value: { agent: 'plan' } })
    assert.deepEqual(plain(second?.event), { case: 'agentSelected', value: { agent: 'plan', previous: 'plan' } })
    const session = await get(store)
    assert.deepEqual([session.agent, session.updateTime], ['plan', clock.now()])
    const [message] = await messages(store)
    assert.ok(message)
    const { messageId, ...rest } = plain(message.message)
    assert.match(messageId, /^msg_/)
    assert.deepEqual(rest, { createTime: clock.now(), kind: { case: 'agentSwitched', value: { agent: 'plan' } } })
  })

  test('selecting the selected model writes nothing, and a variant `default` equals none', async ({ store, clock }) => {
    await store.createSession(W, newSession())
    await store.selectModel(W, 'ses_1', MODEL)
    const { updateTime } = await get(store)
    clock.advance(7)
    await store.selectModel(W, 'ses_1', MODEL)
    await store.selectModel(W, 'ses_1', { ...MODEL, variant: 'default' })
    assert.equal((await get(store)).updateTime, updateTime)
    await store.selectModel(W, 'ses_1', { ...MODEL, variant: 'high' })
    const written = (await messages(store)).map(({ message }) => plain(message.kind))
    assert.deepEqual(written, [
      { case: 'modelSwitched', value: { model: plain(MODEL) } },
      { case: 'modelSwitched', value: { model: plain({ ...MODEL, variant: 'high' }), previous: plain(MODEL) } },
    ])
  })
}
