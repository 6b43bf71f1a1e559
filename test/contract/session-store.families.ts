import assert from 'node:assert/strict'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { ownTurn } from '#shared/own-turn.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { stepPart } from '#test/support/step-part.ts'
import { finishRemovals, fromStaged } from './session-store.removal.ts'
import {
  admission,
  assistant,
  begin,
  get,
  listed,
  newSession,
  plain,
  refusal,
  type StoreTest,
  stale,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

/** Creates sessions, each below the one that it names. */
async function family(store: UseCases, parents: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const [id, parent] of Object.entries(parents)) await store.createSession(W, newSession(id), parent)
}

async function ids(store: UseCases): Promise<string[]> {
  return (await listed(store, {})).map(({ sessionId }) => sessionId).sort()
}

/** How sessions with others below them are removed, and those that are read at the same time. */
export function familyCases(test: StoreTest): void {
  test('messages that are read while their session is removed are whole, or it is not there', async ({ store }) => {
    const staged = await store.stageSession(W, 'ses_1', 'import')
    const said = Array.from({ length: 300 }, (_, i) =>
      assistant(`msg_${i}`, { parts: [stepPart('text', { text: `Hi ${i}` })], completeTime: 2 }),
    )
    for (let at = 0; at < said.length; at += 100) await store.appendStaged(staged, said.slice(at, at + 100))
    await store.commitStaged(staged, fromStaged('ses_1'))
    const removed = store.removeSession(W, 'ses_1').then(() => finishRemovals(store))
    for (let there = true; there; ) {
      const page = await store.listMessages(W, 'ses_1', { limit: 300, order: Order.ASCENDING })
      const last = await store.getMessage(W, 'ses_1', 'msg_299')
      if (page !== undefined) assert.deepEqual(plain(page.items.map(({ message }) => message)), plain(said))
      if (last !== undefined) assert.deepEqual(plain(last.message), plain(said.at(-1)))
      there = page !== undefined || last !== undefined
      await ownTurn()
    }
    await removed
  })

  test('a removed session is gone at once, and its descendants follow, children first, each with an event', async ({
    store,
  }) => {
    const below = { ses_a: 'ses_root', ses_b: 'ses_root', ses_aa: 'ses_a' }
    await family(store, { ses_top: undefined, ses_root: 'ses_top', ...below })
    const removal = await store.removeSession(W, 'ses_root')
    assert.equal(await store.getSession(W, 'ses_root'), undefined)
    assert.deepEqual(await ids(store), ['ses_a', 'ses_aa', 'ses_b', 'ses_top'])
    const taken = await store.takeRemoval(3_600_000)
    assert.deepEqual(plain(taken), plain(removal))
    assert.ok(taken)
    const events = await eventsOf(store, 3, async () => {
      const removed = await store.removeBelow(taken)
      assert.deepEqual(removed.map(({ sessionId }) => sessionId).sort(), ['ses_a', 'ses_aa', 'ses_b'])
      assert.deepEqual(await store.removeBelow(removal), [])
    })
    assert.deepEqual(await ids(store), ['ses_top'])
    const data = new Map(events.map(({ sessionId, event }) => [sessionId, plain(event)]))
    const deleted = (...ancestorIds: string[]) => ({ case: 'sessionDeleted', value: { ancestorIds } })
    assert.deepEqual(data.get('ses_a'), deleted('ses_root', 'ses_top'))
    assert.deepEqual(data.get('ses_aa'), deleted('ses_a', 'ses_root', 'ses_top'))
    const order = events.map(({ sessionId }) => sessionId)
    assert.ok(order.indexOf('ses_aa') < order.indexOf('ses_a'))
    while (await store.continueRemoval(taken, 3_600_000));
    await store.endRemoval(taken)
    assert.equal((await finishRemovals(store)).length, 3)
  })

  test('a session is made below another under its lease, and is there once', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const made = await store.createSession(W, newSession('ses_child'), lease)
    assert.equal(made.parentId, 'ses_1')
    assert.deepEqual(plain(await get(store, 'ses_child')), plain(made))
    const lost = refusal('LEASE_LOST', { session_id: 'ses_1' })
    await assert.rejects(store.createSession(W, newSession('ses_late'), stale(lease)), lost)
    assert.equal((await store.createSession(W, newSession('ses_child'), stale(lease))).parentId, 'ses_1')
    await store.removeSession(W, 'ses_1')
    await assert.rejects(store.createSession(W, newSession('ses_late'), lease), lost)
    assert.deepEqual(await ids(store), ['ses_child'])
  })

  test('sessions are made side by side below one that is being written', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const names = Array.from({ length: 5 }, (_, i) => `ses_c${i}`)
    const made = names.map((id) => store.createSession(W, newSession(id), lease))
    await Promise.all([...made, ...names.map((id) => store.admit(W, admission(`msg_${id}`)))])
    assert.deepEqual(await ids(store), ['ses_1', ...names])
  })

  test('removes a large family a few sessions at a time, and until all are gone the id of the first is not free', async ({
    store,
  }) => {
    const many = Array.from({ length: 45 }, (_, i) => [`ses_${i}`, 'ses_root'])
    await family(store, { ses_root: undefined, ...Object.fromEntries(many) })
    const removal = await store.removeSession(W, 'ses_root')
    const away = refusal('STORE_UNAVAILABLE')
    let gone = 0
    for (let some = await store.removeBelow(removal); some.length > 0; some = await store.removeBelow(removal)) {
      assert.ok(some.length <= 20)
      gone += some.length
      assert.equal((await ids(store)).length, 45 - gone)
      await assert.rejects(store.createSession(W, newSession('ses_root')), away)
      await assert.rejects(store.stageSession(W, 'ses_root', 'import'), away)
    }
    assert.equal(gone, 45)
    // A new session with that id is another one, and has nothing to do with what is left of the first.
    const staged = await store.stageSession(W, 'ses_root', 'import')
    await store.commitStaged(staged, fromStaged('ses_root'))
    await family(store, { ses_new: 'ses_root' })
    assert.deepEqual(await store.removeBelow(removal), [])
    assert.equal((await finishRemovals(store)).length, 46)
    assert.deepEqual(await store.removeBelow(removal), [])
    assert.deepEqual(await ids(store), ['ses_new', 'ses_root'])
  })
}
