import assert from 'node:assert/strict'
import { NO_TOKENS } from '#services/session/domain/session.ts'
import type { SessionQuery, SessionStore } from '#services/session/ports.ts'
import {
  admission,
  admit,
  eventsOf,
  get,
  messages,
  newSession,
  OTHER,
  plain,
  refusal,
  type StoreTest,
  W,
} from './session-store.support.ts'

const MODEL = { providerId: 'portico', modelId: 'echo', variant: '' }

/** Creating, reading, listing and selecting. */
export function sessionCases(test: StoreTest): void {
  test('a new session is answered whole, and read back the same', async ({ store, clock }) => {
    const input = newSession('ses_1', {
      title: 'A title 😀 with \u0000 in it',
      agent: 'build',
      model: { ...MODEL, variant: 'high' },
      metadata: { 'a.b': 1, $set: { nested: [true, null, 'x\u0000y'] }, constructor: {} },
      permissions: [{ action: 'edit', resource: '*', effect: 'ask' }],
    })
    const session = await store.createSession(W, input)
    assert.deepEqual(
      plain(session),
      plain({
        ...input,
        costNanos: 0n,
        tokens: NO_TOKENS,
        timeCreated: clock.now(),
        timeUpdated: clock.now(),
      }),
    )
    assert.deepEqual(plain(await get(store)), plain(session))
  })

  test('none given and none differ for rules and metadata', async ({ store }) => {
    await store.createSession(W, newSession('ses_none', { permissions: [], metadata: {} }))
    const session = await get(store, 'ses_none')
    assert.deepEqual([session.permissions, session.metadata], [[], {}])
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

  test('another workspace sees nothing, and may have the same ids', async ({ store }) => {
    await store.createSession(W, newSession('ses_1', { title: 'mine' }))
    await store.admitPrompt(W, admission('msg_1'))
    assert.equal(await store.getSession(OTHER, 'ses_1'), undefined)
    assert.deepEqual(await store.listSessions(OTHER, { limit: 10, order: 'descending' }), { items: [], more: false })
    assert.equal(await store.listMessages(OTHER, 'ses_1', { limit: 10, order: 'ascending' }), undefined)
    assert.equal(await store.isBusy(OTHER, 'ses_1'), undefined)
    assert.equal(await store.requestInterrupt(OTHER, 'ses_1'), undefined)
    const missing = refusal('SESSION_NOT_FOUND', { session_id: 'ses_1' })
    await assert.rejects(store.admitPrompt(OTHER, admission('msg_1')), missing)
    await assert.rejects(store.selectAgent(OTHER, 'ses_1', 'plan'), missing)
    await assert.rejects(store.replyPermission(OTHER, 'ses_1', 'per_1', { reply: 'once', message: '' }), missing)
    await store.createSession(OTHER, newSession('ses_1', { title: 'theirs' }))
    assert.equal((await get(store)).title, 'mine')
    await store.admitPrompt(OTHER, admission('msg_1', { text: 'other' }))
  })

  test('a missing session is undefined where it is read and refused where it is written', async ({ store }) => {
    assert.equal(await store.getSession(W, 'ses_1'), undefined)
    assert.equal(await store.getMessage(W, 'ses_1', 'msg_1'), undefined)
    await assert.rejects(store.selectModel(W, 'ses_1', MODEL), refusal('SESSION_NOT_FOUND'))
    await assert.rejects(store.admitPrompt(W, admission('msg_1')), refusal('SESSION_NOT_FOUND'))
  })

  test('selecting an agent writes the selection, a message and an event', async ({ store, clock }) => {
    await store.createSession(W, newSession())
    clock.advance(7)
    const [first, second] = await eventsOf(store, 2, async () => {
      await store.selectAgent(W, 'ses_1', 'plan')
      await store.selectAgent(W, 'ses_1', 'plan')
    })
    assert.deepEqual(plain(first?.data), { type: 'agent-selected', agent: 'plan' })
    assert.deepEqual(second?.data, { type: 'agent-selected', agent: 'plan', previous: 'plan' })
    const session = await get(store)
    assert.deepEqual([session.agent, session.timeUpdated], ['plan', clock.now()])
    const [message] = await messages(store)
    const { id = '', ...rest } = plain(message?.message) ?? {}
    assert.match(id, /^msg_/)
    assert.deepEqual(rest, { type: 'agent-switched', agent: 'plan', timeCreated: clock.now() })
  })

  test('selecting the selected model writes nothing, and a variant `default` equals none', async ({ store, clock }) => {
    await store.createSession(W, newSession())
    await store.selectModel(W, 'ses_1', MODEL)
    const { timeUpdated } = await get(store)
    clock.advance(7)
    await store.selectModel(W, 'ses_1', MODEL)
    await store.selectModel(W, 'ses_1', { ...MODEL, variant: 'default' })
    assert.equal((await get(store)).timeUpdated, timeUpdated)
    await store.selectModel(W, 'ses_1', { ...MODEL, variant: 'high' })
    const written = (await messages(store)).map(({ message }) => plain({ ...message, id: '', timeCreated: 0 }))
    const base = { id: '', timeCreated: 0, type: 'model-switched' }
    assert.deepEqual(written, [
      { ...base, model: MODEL },
      { ...base, model: { ...MODEL, variant: 'high' }, previous: MODEL },
    ])
  })
}

/** Lists. */
export function listCases(test: StoreTest): void {
  test('a list is ordered by time of update, then id, both ways', async ({ store, clock }) => {
    await fill(store, clock)
    const ids = await list(store, { order: 'ascending' })
    assert.deepEqual(ids, ['ses_0', 'ses_1', 'ses_2', 'ses_3', 'ses_4', 'ses_5'])
    assert.deepEqual(await list(store, { order: 'descending' }), ids.toReversed())
  })

  test('pages follow each other forward and back, and items keep the order', async ({ store, clock }) => {
    await fill(store, clock)
    const query = { limit: 4, order: 'descending' } as const
    const first = await store.listSessions(W, query)
    assert.deepEqual([first.items.map(({ id }) => id), first.more], [['ses_5', 'ses_4', 'ses_3', 'ses_2'], true])
    const last = first.items[3] as { id: string; timeUpdated: number }
    const second = await store.listSessions(W, { ...query, anchor: { ...last, direction: 'next' } })
    assert.deepEqual([second.items.map(({ id }) => id), second.more], [['ses_1', 'ses_0'], false])
    const start = second.items[0] as { id: string; timeUpdated: number }
    const back = await store.listSessions(W, { ...query, limit: 3, anchor: { ...start, direction: 'previous' } })
    assert.deepEqual([back.items.map(({ id }) => id), back.more], [['ses_4', 'ses_3', 'ses_2'], true])
  })

  test('an item that moves up is not met twice further down', async ({ store, clock }) => {
    await fill(store, clock)
    const query = { limit: 2, order: 'descending' } as const
    const page = await store.listSessions(W, query)
    const anchor = { ...(page.items[1] as { id: string; timeUpdated: number }), direction: 'next' } as const
    clock.advance(1)
    await admit(store, 'steer', 'msg_1')
    assert.deepEqual(await list(store, { ...query, anchor, limit: 10 }), ['ses_3', 'ses_2', 'ses_0'])
    assert.deepEqual(await list(store, { ...query, anchor: { ...anchor, direction: 'previous' } }), ['ses_1', 'ses_5'])
  })

  test('filters are exact and work together', async ({ store }) => {
    const at = (directory: string, projectId: string, subpath = '') => ({ location: { directory, projectId, subpath } })
    await store.createSession(W, newSession('ses_a', at('/a', 'p1')))
    await store.createSession(W, newSession('ses_b', at('/a/b', 'p1', 'b')))
    await store.createSession(W, newSession('ses_c', at('/c', 'p2')))
    assert.deepEqual(await list(store, { directory: '/a' }), ['ses_a'])
    assert.deepEqual(await list(store, { directory: '/A' }), [])
    assert.deepEqual(await list(store, { projectId: 'p1' }), ['ses_a', 'ses_b'])
    assert.deepEqual(await list(store, { projectId: 'p1', subpath: 'b' }), ['ses_b'])
    assert.deepEqual(await list(store, { directory: '/c', projectId: 'p1' }), [])
    assert.deepEqual(await list(store, { parentId: null }), ['ses_a', 'ses_b', 'ses_c'])
    assert.deepEqual(await list(store, { parentId: null, projectId: 'p2' }), ['ses_c'])
    assert.deepEqual(await list(store, { parentId: 'ses_a' }), [])
  })

  test('a search ignores letter case, and takes %, _, * and . for themselves', async ({ store }) => {
    const titles = ['Fix the Ünicode bug', '100% sure', '100 sure', 'snake_case', 'snakeXcase', 'a.*b']
    for (const [i, title] of titles.entries()) await store.createSession(W, newSession(`ses_${i}`, { title }))
    await store.createSession(W, newSession('ses_untitled'))
    const found = async (search: string) => (await list(store, { search })).map((id) => titles[Number(id.slice(4))])
    assert.deepEqual(await found('fix THE ü'), [titles[0]])
    assert.deepEqual(await found('100%'), ['100% sure'])
    assert.deepEqual(await found('SNAKE_'), ['snake_case'])
    assert.deepEqual(await found('.*'), ['a.*b'])
    assert.deepEqual(await found('[a'), [])
    assert.deepEqual(await found('\\'), [])
  })
}

async function fill(store: SessionStore, clock: { advance(ms: number): void }): Promise<void> {
  for (const id of ['ses_0', 'ses_2', 'ses_1', 'ses_4', 'ses_3', 'ses_5']) {
    if (id === 'ses_4') clock.advance(10)
    await store.createSession(W, newSession(id))
  }
}

async function list(store: SessionStore, query: Partial<SessionQuery>): Promise<string[]> {
  const { items } = await store.listSessions(W, { limit: 50, order: 'ascending', ...query })
  return items.map(({ id }) => id)
}
