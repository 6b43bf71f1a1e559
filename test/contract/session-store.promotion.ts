import assert from 'node:assert/strict'
import {
  acquire,
  admission,
  admit,
  admitter,
  begin,
  messages,
  names,
  newSession,
  plain,
  type StoreTest,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

/** Promotion. */
export function promotionCases(test: StoreTest): void {
  test('promotion begins the run and makes user messages, each with its event', async ({ store, clock, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, 'steer', 'msg_1')
    const lease = await acquire(store, longMs)
    clock.advance(20)
    const events = await eventsOf(store, 2, async () => {
      const promotion = await store.promote(lease, 'idle')
      assert.deepEqual(promotion.admitter, admitter)
      assert.deepEqual(plain(promotion.messages), plain(await messages(store)))
    })
    assert.deepEqual(
      events.map(({ data }) => plain(data)),
      [{ type: 'execution-started' }, { type: 'inbox-delivered', messageId: 'msg_1' }],
    )
    const stored = await store.getMessage(W, 'ses_1', 'msg_1')
    const { prompt } = admission('msg_1')
    assert.deepEqual(plain(stored?.message), plain({ type: 'user', id: 'msg_1', prompt, timeCreated: clock.now() }))
    assert.deepEqual(await store.lastAdmitter(lease), admitter)
  })

  test('a step boundary lets in every steer and no queued item', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, 'queue', 'msg_q1')
    await admit(store, 'steer', 'msg_s1', 'msg_s2')
    assert.deepEqual(names((await store.promote(lease, 'step')).messages), ['msg_s1', 'msg_s2'])
    assert.deepEqual(await store.promote(lease, 'step'), { messages: [], admitter: undefined })
  })

  test('an idle boundary lets in every steer and the oldest queued item, in order of admission', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, 'steer', 'msg_s1')
    await admit(store, 'queue', 'msg_q1', 'msg_q2')
    await admit(store, 'steer', 'msg_s2')
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_s1', 'msg_q1', 'msg_s2'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_q2'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), [])
  })

  test('the run begins once', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, 'steer', 'msg_s1')
    const [event] = await eventsOf(store, 1, () => store.promote(lease, 'step'))
    assert.equal(event?.data.type, 'inbox-delivered')
  })

  test('who admitted the last promoted input is known', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const second = { ...admitter, apiKeyId: 'key_2' }
    await store.admitPrompt(W, admission('msg_2', { admitter: second }))
    assert.deepEqual(await store.lastAdmitter(lease), admitter)
    assert.deepEqual((await store.promote(lease, 'step')).admitter, second)
    assert.deepEqual(await store.lastAdmitter(lease), second)
  })

  test('before the first promotion nobody admitted', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, 'steer', 'msg_1')
    assert.equal(await store.lastAdmitter(await acquire(store, longMs)), undefined)
  })
}
