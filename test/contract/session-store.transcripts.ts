import assert from 'node:assert/strict'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { MessageQuery } from '#services/session/ports/session-lists.ts'
import { nothing } from '#services/session/ports/session-store.ts'
import { everyMessage } from '#test/support/every-message.ts'
import { stepPart } from '#test/support/step-part.ts'
import {
  admit,
  assistant,
  begin,
  messages,
  names,
  newSession,
  plain,
  type StoreTest,
  W,
} from './session-store.support.ts'

/** Reading a conversation. */
export function transcriptCases(test: StoreTest): void {
  test('messages are paged both ways, and keep the order', async ({ store }) => {
    await store.createSession(W, newSession())
    for (const agent of ['a', 'b', 'c', 'd', 'e']) await store.selectAgent(W, 'ses_1', agent)
    const list = async (query: MessageQuery) => {
      const page = await store.listMessages(W, 'ses_1', query)
      const agents = page?.items
        .map(({ message }) => message.kind.case === 'agentSwitched' && message.kind.value.agent)
        .join('')
      return [agents, page?.more, page?.items.at(-1)?.seq ?? 0] as const
    }
    const [first, more, seq] = await list({ limit: 2, order: Order.ASCENDING })
    assert.deepEqual([first, more], ['ab', true])
    const next = await list({ limit: 3, order: Order.ASCENDING, anchor: { seq, direction: 'next' } })
    assert.deepEqual(next.slice(0, 2), ['cde', false])
    const back = await list({ limit: 1, order: Order.ASCENDING, anchor: { seq: next[2], direction: 'previous' } })
    assert.deepEqual(back.slice(0, 2), ['d', true])
    const newest = await list({ limit: 2, order: Order.DESCENDING })
    assert.deepEqual(newest.slice(0, 2), ['ed', true])
    const before = await list({ limit: 9, order: Order.DESCENDING, anchor: { seq: newest[2], direction: 'next' } })
    assert.deepEqual(before.slice(0, 2), ['cba', false])
    const after = await list({ limit: 9, order: Order.DESCENDING, anchor: { seq: newest[2], direction: 'previous' } })
    assert.deepEqual(after.slice(0, 2), ['e', false])
  })

  test('a page ends before it has too many bytes, both ways, but not before its first message', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const textOf = (text: string) => stepPart('text', { text })
    const [small, large] = [textOf(''), textOf('ü'.repeat(10_000))]
    for (const [id, parts] of Object.entries({
      msg_small: [small],
      msg_large: [small, large],
      msg_many: Array(30).fill(small),
      msg_last: [],
    })) {
      const step = assistant(id, { parts, completeTime: 1 })
      await store.recordStep(lease, { message: step, events: [] })
    }
    const seqs = (await messages(store)).map(({ seq }) => seq)
    const page = async (bytes: number, from: number, direction: 'next' | 'previous' = 'next', limit = 9) => {
      const anchor = { seq: from === 0 ? 0 : (seqs[from - 1] as number), direction }
      const found = await store.listMessages(W, 'ses_1', { limit, bytes, order: Order.ASCENDING, anchor })
      return [found && names(found.items), found?.more]
    }
    const [first, ...others] = ['msg_first', 'msg_small', 'msg_large', 'msg_many', 'msg_last']
    assert.deepEqual(await page(1, 0), [[first], true])
    assert.deepEqual(await page(1, 4), [['msg_last'], false])
    assert.deepEqual(await page(12_000, 0), [[first, 'msg_small'], true])
    assert.deepEqual(await page(12_000, 2), [['msg_large'], true])
    assert.deepEqual(await page(30 * 1_024, 3), [['msg_many'], true])
    assert.deepEqual(await page(1_000_000, 1), [others, false])
    assert.deepEqual(await page(1_000_000, 1, 'next', 3), [others.slice(0, 3), true])
    assert.deepEqual(await page(12_000, 3, 'previous'), [[first, 'msg_small'], false])
    assert.deepEqual(await page(12_000, 4, 'previous'), [['msg_large'], true])
    assert.deepEqual(await page(1, 5, 'previous'), [['msg_many'], true])
  })

  test('a session without messages has an empty page, and a missing one has none', async ({ store }) => {
    await store.createSession(W, newSession())
    const query = { limit: 5, order: Order.ASCENDING } as const
    const { incarnation, ...page } = (await store.listMessages(W, 'ses_1', query)) ?? {}
    assert.deepEqual([page, typeof incarnation], [{ items: [], more: false }, 'string'])
    assert.equal(await store.listMessages(W, 'ses_2', query), undefined)
  })

  test('a message of another session is not found', async (fixture) => {
    await begin(fixture)
    await fixture.store.createSession(W, newSession('ses_2'))
    assert.equal(await fixture.store.getMessage(W, 'ses_2', 'msg_first'), undefined)
  })

  test('a transcript is read from the start or from a place, without waiting inputs', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.recordStep(lease, { message: assistant('msg_step'), events: [] })
    await admit(store, Delivery.STEER, 'msg_waits')
    const whole = await store.readTranscript(lease, 0)
    assert.deepEqual(names(whole), ['msg_first', 'msg_step'])
    assert.deepEqual(plain(whole), plain(await messages(store)))
    assert.deepEqual(names(await store.readTranscript(lease, whole[0]?.seq ?? 0)), ['msg_step'])
  })

  test('a message of every kind is kept with every member', async ({ store }) => {
    await store.createSession(W, newSession())
    const every = everyMessage({ hash: 'a'.repeat(64), size: 3 })
    await store.revise({ workspace: W, sessionId: 'ses_1' }, nothing, (revision) => {
      for (const message of every) revision.insert(message)
    })
    const kept = await messages(store)
    assert.deepEqual(plain(kept.map(({ message }) => message)), plain(every))
  })
}
