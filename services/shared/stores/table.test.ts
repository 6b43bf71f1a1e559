import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DescMessage } from '@bufbuild/protobuf'
import { PromptSchema } from '#gen/portico/session/v1/session_pb.js'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { mongoSchema, projectionOf } from './mongo-table.ts'
import { columnList, insertInto, selectAll, selectEach, selectOne, sqliteSchema, updateRows } from './sqlite-table.ts'
import {
  decimal,
  defineTable,
  flag,
  fromRow,
  integer,
  json,
  long,
  message,
  optional,
  text,
  toChanges,
  toRow,
  wide,
} from './table.ts'

const notes = defineTable({
  name: 'notes',
  columns: {
    id: text(),
    content: long(text()),
    tags: optional(json<readonly string[]>('texts')),
    cost: decimal(),
    tokens: wide(),
    isDone: flag(),
    timeCreated: integer(),
  },
  sqlite: {
    columns: { number: integer() },
    primaryKey: ['id'],
    withoutRowid: true,
    indexes: { notesDone: '(timeCreated) WHERE isDone = 1' },
    uniqueIndexes: { notesByNumber: '(number)' },
  },
  mongo: { indexes: [{ name: 'notesByTime', key: { timeCreated: 1 } }] },
})

const first = {
  id: 'one',
  content: 'a',
  tags: ['x'],
  cost: 12_345_678_901_234_567_890n,
  tokens: 9_007_199_254_740_993n,
  isDone: true,
  timeCreated: 7,
}

test('a record becomes a row and is read back as it was', () => {
  const row = toRow(notes.columns, first)
  assert.deepEqual(row, { ...first, tags: '["x"]', cost: '12345678901234567890', isDone: 1 })
  assert.deepEqual(fromRow(notes.columns, row), first)
  const none = { ...first, tags: undefined }
  assert.equal(toRow(notes.columns, none).tags, null)
  assert.deepEqual(fromRow(notes.columns, toRow(notes.columns, none)), none)
  assert.deepEqual(toChanges(notes.columns, { isDone: false, tags: undefined }), { isDone: 0, tags: null })
})

test('SQLite inserts, changes and reads the rows of a table', async () => {
  using folder = scratchDirectory()
  const schema = sqliteSchema([notes])
  assert.deepEqual(schema.create, [
    'CREATE TABLE notes (id TEXT NOT NULL, content TEXT NOT NULL, tags TEXT, cost TEXT NOT NULL, tokens INTEGER NOT NULL, isDone INTEGER NOT NULL, timeCreated INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (id)) STRICT, WITHOUT ROWID',
    'CREATE INDEX notesDone ON notes (timeCreated) WHERE isDone = 1',
    'CREATE UNIQUE INDEX notesByNumber ON notes (number)',
  ])
  await using file = new SqliteFile(`${folder.path}/notes.sqlite`, { schema, exclusive: true })
  const insert = insertInto(notes)
  const many = Array.from({ length: 40 }, (_, i) => ({ ...first, id: `note_${String(i).padStart(2, '0')}` }))
  const records = [{ ...first, content: 'ä'.repeat(70_000), tags: undefined }, ...many]
  await file.write(() => {
    insert(
      file,
      records.map((record, number) => ({ ...toRow(notes.columns, record), number })),
    )
    updateRows(file, notes, toChanges(notes.columns, { isDone: false }), 'WHERE id = ?', 'note_39')
  })
  const stored = records.map((record) => ({ ...record, isDone: record.id !== 'note_39' }))
  const rows = selectAll(file, notes.columns, 'FROM notes ORDER BY number')
  assert.deepEqual(
    rows.map((row) => fromRow(notes.columns, row)),
    stored,
  )
  assert.deepEqual([...selectEach(file, notes.columns, 'FROM notes ORDER BY number')], rows)
  assert.deepEqual(selectOne(file, notes.columns, 'FROM notes WHERE id = ?', 'one'), rows[0])
  assert.equal(selectOne(file, notes.columns, 'FROM notes WHERE id = ?', 'two'), undefined)
  assert.equal(columnList({ id: text() }, 'notes'), 'notes.id')
})

test('MongoDB gets the indexes and projections of a table, and none of a table that is only in SQLite', () => {
  const own = defineTable({ name: 'own', columns: { id: text() }, sqlite: {} })
  const schema = mongoSchema('notes', [notes, own], { prefix: 'notes.' })
  assert.deepEqual(schema.indexes, { 'notes.notes': [{ name: 'notesByTime', key: { timeCreated: 1 } }] })
  assert.deepEqual(projectionOf({ id: text(), cost: decimal() }), { _id: 0, id: 1, cost: 1 })
})

test('a store has another digest when a column changes', () => {
  const changed = defineTable({ ...notes, columns: { ...notes.columns, isDone: optional(flag()) } })
  assert.notEqual(sqliteSchema([changed]).digest, sqliteSchema([notes]).digest)
  assert.notEqual(mongoSchema('notes', [changed]).digest, mongoSchema('notes', [notes]).digest)
})

test('a schema has another digest when a message in its rows, or in a message there, has another form', () => {
  const withColumn = (schema: DescMessage) => {
    return defineTable({ ...notes, columns: { ...notes.columns, prompt: optional(message(schema)) } })
  }
  const [first, ...others] = PromptSchema.fields
  const inner = PromptSchema.fields.map((field) => {
    return field.message === undefined ? field : { ...field, message: { ...field.message, fields: [] } }
  })
  const tables = [PromptSchema, { ...PromptSchema, fields: others }, { ...PromptSchema, fields: inner }] as const
  assert.ok(first !== undefined)
  const digests = tables.map((schema) => {
    const table = withColumn(schema as DescMessage)
    return [sqliteSchema([table]).digest, mongoSchema('notes', [table]).digest]
  })
  assert.equal(new Set(digests.flat()).size, 6)
  assert.equal(sqliteSchema([withColumn(PromptSchema)]).digest, digests[0]?.[0])
})
