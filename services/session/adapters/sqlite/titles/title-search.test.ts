import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { BLOCK } from '#services/session/adapters/common/titles/place-sets.ts'
import { termsOf } from '#services/session/adapters/common/titles/title-terms.ts'
import { findsAll, HOUR_MS, type Query, START, titledSessions, W } from '#test/support/titled-sessions.ts'

test('indexed titles, and those waiting to be, are found in the order of the list, whatever happens to them', async () => {
  await using all = await titledSessions()
  await all.add(2 * BLOCK + 300, 4_000)
  findsAll(all, 'all wait')
  await all.indexed()
  assert.equal(all.count('titleBlocks'), 2)
  findsAll(all, 'two blocks')
  await all.prompt('number % 10 = 3', 2)
  findsAll(all, 'prompted in another hour')
  all.change(`titleSearch = 'renamed ' || number`, 'number % 9 = 4')
  all.change(`projectId = 'even', directory = '/a'`, 'number % 11 = 5')
  all.change('titleSearch = NULL', 'number % 13 = 6')
  all.remove('number % 17 = 7')
  findsAll(all, 'renamed, moved, without a title, removed')
  await all.add(BLOCK, 1_000)
  await all.indexed()
  findsAll(all, 'indexed again')
  assert.equal(all.count('sessions WHERE titlePlace IS NOT NULL'), all.count('sessions WHERE titleSearch IS NOT NULL'))
  await all.add(BLOCK, 0)
  await all.indexed()
  findsAll(all, 'many at one time')
})

test('a page is found in the blocks that may contain it, however many there are', async (t) => {
  await using all = await titledSessions()
  await all.add(6 * BLOCK, 4_000)
  await all.indexed()
  const { oldest } = all.file.statement('SELECT oldest FROM titleBlocks WHERE block = 3').get() as { oldest: number }
  const after = { timeUpdated: oldest + 2 * HOUR_MS, id: '' }
  const query = { search: 'parser', order: 'descending' } as const
  const pages: Query[] = [query, { ...query, order: 'ascending' }, { ...query, after }]
  for (const page of [...pages, { ...query, order: 'ascending', after } as const]) {
    const expected = all.expected(page)
    const statement = t.mock.method(all.file, 'statement')
    assert.deepEqual(all.find(page), expected)
    const asked = statement.mock.calls.filter(({ arguments: [sql] }) => sql.includes('FROM titleTerms'))
    statement.mock.restore()
    assert.equal(expected.length, 20)
    assert.equal(asked.length, termsOf({ workspace: W }, 'parser').length, 'those of one block')
  }
})

test('sessions that change during a search cause no other to be missed, and none to be found twice', async () => {
  await using all = await titledSessions()
  await all.add(3 * BLOCK + 500, 3_000)
  await all.indexed()
  for (const order of ['ascending', 'descending'] as const) {
    const query = { search: 'of the parser', order, limit: 100_000 }
    const before = all.expected(query)
    const search = all.search(query)
    let turn = 0
    for (;;) {
      const { done, value } = search.next()
      if (done === true) {
        const ids = value.map(({ id }) => id)
        assert.equal(new Set(ids).size, ids.length, 'none twice')
        assert.deepEqual(ids, all.expected(query))
        break
      }
      turn++
      if (turn > 4) continue
      // Each turn others move up, are renamed, and get into the index.
      await all.prompt(`number % 40 = ${turn}`, 1)
      all.change(`titleSearch = 'of the parser, too'`, `number % 41 = ${turn}`)
      all.remove(`number % 43 = ${turn}`)
      await all.add(BLOCK, 10)
      await all.indexed()
      await setImmediate()
    }
    assert.ok(turn > 4, `${turn} turns`)
    assert.notDeepEqual(all.expected(query), before)
  }
})

test('a session that gets another place before the block of its old one is looked at is found', async (t) => {
  await using all = await titledSessions()
  await all.add(2 * BLOCK + 500, 3_000)
  await all.indexed()
  for (const order of ['ascending', 'descending'] as const) {
    const query = { search: 'of the parser', order, until: START + 3_000 * BLOCK }
    const [id] = all.expected(query)
    const statement = all.file.statement.bind(all.file)
    const blocks = t.mock.method(all.file, 'statement', (sql: string) => {
      if (sql.includes('FROM titleTerms')) {
        blocks.mock.restore()
        all.change(`directory = '/${order}'`, `id = '${id}'`)
      }
      return statement(sql)
    })
    assert.equal(all.find(query)[0], id)
    assert.equal(all.count(`sessions WHERE directory = '/${order}'`), 1)
  }
})
