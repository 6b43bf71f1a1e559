import assert from 'node:assert/strict'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { admit, newSession, type StoreTest, W } from './session-store.support.ts'

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

async function fill(store: UseCases, clock: { advance(ms: number): void }): Promise<void> {
  for (const id of ['ses_0', 'ses_2', 'ses_1', 'ses_4', 'ses_3', 'ses_5']) {
    if (id === 'ses_4') clock.advance(10)
    await store.createSession(W, newSession(id))
  }
}

async function list(store: UseCases, query: Partial<SessionQuery>): Promise<string[]> {
  const { items } = await store.listSessions(W, { limit: 50, order: 'ascending', ...query })
  return items.map(({ id }) => id)
}
