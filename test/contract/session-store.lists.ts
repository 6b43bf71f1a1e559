import assert from 'node:assert/strict'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { admission, listed, newSession, type StoreTest, W } from './session-store.support.ts'

/** Lists. */
export function listCases(test: StoreTest): void {
  test('a list is ordered by time of update, then id, both ways', async ({ store, clock }) => {
    await fill(store, clock)
    const ids = await list(store, { order: Order.ASCENDING })
    assert.deepEqual(ids, ['ses_0', 'ses_1', 'ses_2', 'ses_3', 'ses_4', 'ses_5'])
    assert.deepEqual(await list(store, { order: Order.DESCENDING }), ids.toReversed())
  })

  test('a list goes on after any session, both ways, and has at most the requested number', async ({
    store,
    clock,
  }) => {
    await fill(store, clock)
    const first = await listed(store, { limit: 4, order: Order.DESCENDING })
    const after = first[3] as Session
    assert.deepEqual(idsOf(first), ['ses_5', 'ses_4', 'ses_3', 'ses_2'])
    assert.deepEqual(await list(store, { order: Order.DESCENDING, after }), ['ses_1', 'ses_0'])
    assert.deepEqual(await list(store, { order: Order.ASCENDING, after, limit: 2 }), ['ses_3', 'ses_4'])
    assert.deepEqual(await list(store, { order: Order.DESCENDING, after: { updateTime: 0, sessionId: '' } }), [])
  })

  test('a session that moves up is listed neither again further down nor beyond the end of an ascending list', async ({
    store,
    clock,
  }) => {
    await fill(store, clock)
    const until = clock.now()
    const [, after] = (await listed(store, { limit: 2, order: Order.DESCENDING })) as [Session, Session]
    clock.advance(1)
    await store.admit(W, admission('msg_1'))
    assert.deepEqual(await list(store, { order: Order.DESCENDING, after }), ['ses_3', 'ses_2', 'ses_0'])
    assert.deepEqual(await list(store, { order: Order.ASCENDING, after }), ['ses_5', 'ses_1'])
    assert.deepEqual(await list(store, { order: Order.ASCENDING, after, until }), ['ses_5'])
    const before = ['ses_0', 'ses_2', 'ses_3', 'ses_4', 'ses_5']
    assert.deepEqual(await list(store, { until }), before)
    assert.deepEqual(await list(store, { until, order: Order.DESCENDING }), before.toReversed())
  })

  test('filters are exact and work together', async ({ store }) => {
    const at = (directory: string, projectId: string, subpath = '') => ({
      directory,
      projectId,
      subpath,
    })
    await store.createSession(W, newSession('ses_a', at('/a', 'p1')))
    await store.createSession(W, newSession('ses_b', at('/a/b', 'p1', 'b')), 'ses_a')
    await store.createSession(W, newSession('ses_c', at('/c', 'p2')))
    assert.deepEqual(await list(store, { directory: '/a' }), ['ses_a'])
    assert.deepEqual(await list(store, { directory: '/A' }), [])
    assert.deepEqual(await list(store, { projectId: 'p1' }), ['ses_a', 'ses_b'])
    assert.deepEqual(await list(store, { projectId: 'p1', subpath: 'b' }), ['ses_b'])
    assert.deepEqual(await list(store, { projectId: 'p1', subpath: '' }), ['ses_a'])
    assert.deepEqual(await list(store, { directory: '/c', projectId: 'p1' }), [])
    assert.deepEqual(await list(store, { parentId: null }), ['ses_a', 'ses_c'])
    assert.deepEqual(await list(store, { parentId: null, projectId: 'p2' }), ['ses_c'])
    assert.deepEqual(await list(store, { parentId: 'ses_a' }), ['ses_b'])
    assert.deepEqual(await list(store, { parentId: 'ses_a', directory: '/a' }), [])
  })

  test('a search ignores letter case, and takes %, _, * and . for themselves', async ({ store }) => {
    const titles = ['Fix the Ünicode bug', '100% sure', '100 sure', 'snake_case', 'snakeXcase', 'a.*b "x" y']
    titles.push('a NUL \0 in it', 'ﬁn 😀😀😀 統統統', 'İstanbul', 'Ο Οδυσσεύς', 'Die Straße')
    for (const [i, title] of titles.entries()) await store.createSession(W, newSession(`ses_${i}`, { title }))
    await store.createSession(W, newSession('ses_untitled'))
    const found = async (search: string) => (await list(store, { search })).map((id) => titles[Number(id.slice(4))])
    assert.deepEqual(await found('fix THE ü'), [titles[0]])
    assert.deepEqual(await found('100%'), ['100% sure'])
    assert.deepEqual(await found('SNAKE_'), ['snake_case'])
    assert.deepEqual(await found('.*'), ['a.*b "x" y'])
    assert.deepEqual(await found('B "X" Y'), ['a.*b "x" y'])
    assert.deepEqual(await found('NUL \0 in'), ['a NUL \0 in it'])
    assert.deepEqual(await found('😀😀 統'), ['ﬁn 😀😀😀 統統統'])
    for (const search of ['İST', 'istan', 'ISTANBUL', 'ıs', 'İ'])
      assert.ok((await found(search)).includes('İstanbul'), search)
    for (const search of ['ΟΔΥΣΣΕΎΣ', 'δυσσεύσ', 'εύς', 'Ύς'.normalize('NFD')])
      assert.deepEqual(await found(search), ['Ο Οδυσσεύς'], search)
    for (const search of ['STRASSE', 'STRAẞE', 'straße', 'asse', 'ß'])
      assert.deepEqual(await found(search), ['Die Straße'])
    for (const long of ['*', '\ufb2c']) assert.deepEqual(await found(long.repeat(8_192)), [])
    for (const none of ['[a', '\\', 'snake case', '100%%', 'untitled', 'snakecase'])
      assert.deepEqual(await found(none), [])
  })
}

async function fill(store: UseCases, clock: { advance(ms: number): void }): Promise<void> {
  for (const id of ['ses_0', 'ses_2', 'ses_1', 'ses_4', 'ses_3', 'ses_5']) {
    if (id === 'ses_4') clock.advance(10)
    await store.createSession(W, newSession(id))
  }
}

function idsOf(sessions: readonly Session[]): string[] {
  return sessions.map(({ sessionId }) => sessionId)
}

async function list(store: UseCases, query: Partial<SessionQuery>): Promise<string[]> {
  return idsOf(await listed(store, query))
}
