import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { fill, inModel } from './session-store.any-lists.ts'
import { admission, listed, ManualClock, W } from './session-store.support.ts'

test('titles that are in the index, and those that wait for it, are found alike', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-titles-'))
  const path = join(directory, 'session.sqlite')
  const clock = new ManualClock()
  const open = async () => withUseCases(await openSqliteSessionStore({ path, clock }))
  const fixture = {
    ...{ clock, longMs: 1, shortMs: 1, outlast: async () => {}, contents: async () => ({}), damage: async () => {} },
    [Symbol.asyncDispose]: async () => {},
  }
  try {
    let store = await open()
    const all = await fill({ ...fixture, store }, 2_500)
    const same = async (): Promise<void> => {
      const searches = ['parser', 'LEX', 'ser of t', '0% 12', 'the par', 'nothing', ' 11', 'lexer gateway 3']
      for (const search of searches) {
        for (const more of [{}, { projectId: 'p1' }, { directory: '/a' }, { parentId: null }, { parentId: 'ses_7' }]) {
          for (const order of ['ascending', 'descending'] as const) {
            const query = { search, order, limit: 50, ...more }
            const found = (await listed(store, query)).map(({ id }) => id)
            const expected = inModel(all, query).slice(0, 50)
            assert.deepEqual(
              found,
              expected.map(({ id }) => id),
              JSON.stringify(query),
            )
          }
        }
      }
    }
    // While titles get into the index.
    await same()
    await store[Symbol.asyncDispose]()
    store = await open()
    await same()
    clock.advance(3_600_000)
    await store.admitPrompt(W, admission('msg_next_hour', { sessionId: 'ses_1', wake: false }))
    await store[Symbol.asyncDispose]()
    using file = new DatabaseSync(path)
    const count = (sql: string) => file.prepare(`SELECT count(*) AS count FROM ${sql}`).get()?.count as number
    const titled = count('sessions WHERE titleSearch IS NOT NULL')
    assert.equal(count('sessions WHERE titlePlace IS NOT NULL'), titled)
    assert.equal(count('titleBlocks'), 1)
    const newest = file.prepare('SELECT id FROM sessions ORDER BY titlePlace DESC LIMIT 1').get()
    assert.equal(newest?.id, 'ses_1', 'activity in another hour')
  } finally {
    await rm(directory, { recursive: true })
  }
})
