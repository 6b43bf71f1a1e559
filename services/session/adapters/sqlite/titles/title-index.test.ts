import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrateSqlite } from '#shared/stores/sqlite-schema.ts'
import { findsAll, HOUR_MS, START, TitledSessions, titledSessions } from '#test/support/titled-sessions.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { STEPS } from '../schema.ts'
import { placeTitles } from '../steps/place-titles.ts'
import { BLOCK } from './place-sets.ts'

test('activity within an hour leaves a session its place, in another hour it gets one after all others', async () => {
  await using all = await titledSessions()
  await all.add(3, 1_000)
  const places = () =>
    all.file
      .statement('SELECT place FROM titlePlaces ORDER BY session')
      .all()
      .map(({ place }) => place)
  assert.deepEqual(places(), [1, 2, 3])
  all.change('titleSearch = titleSearch, directory = directory', 'number = 1')
  all.titles.touched(1, START, START + HOUR_MS - 1)
  assert.deepEqual(places(), [1, 2, 3])
  all.titles.touched(1, START + HOUR_MS - 1, START + HOUR_MS)
  assert.deepEqual(places(), [4, 2, 3])
  all.remove('number = 1')
  all.change(`titleSearch = 'another'`, 'number = 2')
  assert.deepEqual(places(), [5, 3], 'no place is given twice')
})

test('a block that little is left of goes, and what is left of it is found', async () => {
  await using all = await titledSessions()
  await all.add(3 * BLOCK, 1_000)
  await all.indexed()
  await all.prompt('number > 300 AND number < 2_000', 1)
  all.remove('number >= 2_000 AND number < 3_500')
  await all.add(BLOCK, 1_000)
  await all.indexed()
  await waitFor('the blocks to go', () => all.count('titleBlocks WHERE block IN (0, 1)') === 0)
  const ofNone = 'titleTerms WHERE block NOT IN (SELECT block FROM titleBlocks)'
  await waitFor('their terms to go', () => all.count(ofNone) === 0)
  findsAll(all, 'cleared')
})

test('a block that a crash left half written is written whole', async () => {
  await using all = await titledSessions()
  await all.add(BLOCK, 1_000)
  const write = all.file.statement('INSERT INTO titleTerms (block, term, places) VALUES (0, ?, ?)')
  for (let term = 0; term < 10; term++) write.run(term, new Uint8Array([1, 0]))
  await all.indexed()
  assert.equal(all.count('titleBlocks'), 1)
  findsAll(all, 'after a crash')
})

test('sessions that are there before the index are placed in the order of their activity', async () => {
  const step = STEPS.findIndex(({ up }) => up === placeTitles)
  const directory = await mkdtemp(join(tmpdir(), 'portico-titles-'))
  const before = new TitledSessions(directory, STEPS.slice(0, step))
  await before.add(200, 1_000)
  before.change('timeUpdated = timeUpdated + 1_000_000', 'number = 7')
  before.change('titleSearch = NULL', 'number = 9')
  await before.file[Symbol.asyncDispose]()
  migrateSqlite({ path: join(directory, 'session.sqlite'), steps: STEPS }, true, () => {})
  await using all = new TitledSessions(directory)
  const order = all.file.statement('SELECT session FROM titlePlaces ORDER BY place').all()
  const expected = Array.from({ length: 200 }, (_, i) => i + 1).filter((number) => number !== 7 && number !== 9)
  assert.deepEqual(
    order.map(({ session }) => session),
    [...expected, 7],
  )
  findsAll(all, 'after the step')
})
