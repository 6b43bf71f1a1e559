import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { KeptReads } from './kept-reads.ts'

const SCHEMA = { create: ['CREATE TABLE words (word TEXT) STRICT'], digest: 1, steps: [] }

/** A file with one word, a cache of its reads, and how often it was read. */
async function open() {
  const stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'portico-kept-reads-'))
  stack.defer(() => rm(folder, { recursive: true }))
  const path = join(folder, 'words.sqlite')
  const file = stack.use(new SqliteFile(path, { schema: SCHEMA, exclusive: false }))
  const kept = new KeptReads<{ readonly word: string }>(file)
  const state = { reads: 0 }
  const read = (key = 'a'): string | undefined => {
    const found = kept.read(key, () => {
      state.reads += 1
      return file.statement('SELECT word FROM words').get() as { word: string } | undefined
    })
    return found?.word
  }
  const set = (word: string): void => {
    file.statement('DELETE FROM words').run()
    file.statement('INSERT INTO words VALUES (?)').run(word)
  }
  await file.write(() => set('first'))
  return { path, file, read, set, state, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('a read is kept until something is committed, here or by another process', async () => {
  await using words = await open()
  assert.deepEqual([words.read(), words.read(), words.state.reads], ['first', 'first', 1])
  await words.file.write(() => words.set('second'))
  assert.deepEqual([words.read(), words.read(), words.state.reads], ['second', 'second', 2])
  const other = new DatabaseSync(words.path)
  try {
    for (const word of ['third', 'fourth']) {
      other.exec(`UPDATE words SET word = '${word}'`)
      assert.deepEqual([words.read(), words.read()], [word, word])
    }
  } finally {
    other.close()
  }
  assert.equal(words.state.reads, 4)
})

test('looks up again what was missing', async () => {
  await using words = await open()
  await words.file.write(() => words.file.statement('DELETE FROM words').run())
  assert.deepEqual([words.read(), words.read(), words.state.reads], [undefined, undefined, 2])
})

test('a read within a transaction that is rolled back is not kept', async () => {
  await using words = await open()
  const undone = words.file.write(() => {
    words.set('never')
    assert.equal(words.read(), 'never')
    throw new Error('undo it')
  })
  await assert.rejects(undone, /undo it/)
  assert.equal(words.read(), 'first')
})

test('a bounded number of reads is kept', async () => {
  await using words = await open()
  for (let n = 0; n < 2_500; n++) words.read(`key ${n}`)
  words.read('key 0')
  assert.equal(words.state.reads, 2_501)
})
