import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BLOCK } from '#services/session/adapters/common/titles/place-sets.ts'
import { Revision } from '#services/session/domain/revision.ts'
import type { SessionState } from '#services/session/domain/session-state.ts'
import type { Write } from '#services/session/domain/write.ts'
import { createLogger } from '#shared/telemetry/logging.ts'
import { findsAll, HOUR_MS, START, TitledSessions, titledSessions } from '#test/support/titled-sessions.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { TitleIndex } from './title-index.ts'

test('activity within an hour leaves a session its place; in another hour, or elsewhere, it gets a place after all others', async () => {
  await using all = await titledSessions()
  await all.add(3, 1_000)
  const places = () =>
    all.file
      .statement('SELECT titlePlace FROM sessions ORDER BY number')
      .all()
      .map(({ titlePlace }) => titlePlace)
  assert.deepEqual(places(), [0, 1, 2])
  const before = { timeUpdated: START, directory: '/a', projectId: 'one', subpath: '' } as SessionState
  const saved = (number: number, changes: Partial<SessionState>, write?: Write) => {
    const revision = new Revision(before, START, START, (prefix) => prefix)
    revision.set(changes)
    if (write !== undefined) revision.writes.push(write)
    all.titles.saved(number, revision)
  }
  saved(1, { timeUpdated: START + HOUR_MS - 1 }, { type: 'describe', metadata: {} })
  assert.deepEqual(places(), [0, 1, 2])
  saved(1, { timeUpdated: START + HOUR_MS })
  assert.deepEqual(places(), [3, 1, 2])
  saved(2, { directory: '/b' })
  saved(3, { subpath: 'c' })
  saved(2, { projectId: 'two' })
  assert.deepEqual(places(), [3, 6, 5])
  saved(3, {}, { type: 'describe', title: 'another' })
  all.remove('number = 3')
  saved(1, { timeUpdated: START + 2 * HOUR_MS })
  assert.deepEqual(places(), [8, 6], 'no place is given twice')
})

test('an indexed place is given to nobody else, even after a restart', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-titles-'))
  {
    const before = new TitledSessions(directory)
    await before.add(BLOCK, 1_000)
    await before.indexed()
    before.remove('number > 100')
    await before.file[Symbol.asyncDispose]()
  }
  await using all = new TitledSessions(directory)
  assert.equal(all.titles.place('a title'), BLOCK)
})

test('what keeps the index from going on is logged, unless the file is closed', async () => {
  const turns = async () => {
    for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  const lines: string[] = []
  const logger = createLogger({ service: 'session', level: 'info', destination: { write: (line) => lines.push(line) } })
  {
    await using all = await titledSessions()
    await all.add(BLOCK, 1_000)
    new TitleIndex(all.file, logger).look()
  }
  await turns()
  assert.deepEqual(lines, [])
  await using all = await titledSessions()
  await all.add(BLOCK, 1_000)
  all.file.statement('DROP TABLE titleTerms').run()
  new TitleIndex(all.file, logger).look()
  await waitFor('a line', () => lines.length > 0)
  const { level, msg, err } = JSON.parse(lines[0] ?? '')
  assert.deepEqual([level, msg], ['error', 'The index of titles could not be continued'])
  assert.match(err.message, /titleTerms/)
})

test('a block of which little is left is removed, and the rest of it is still found', async () => {
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
