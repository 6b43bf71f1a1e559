import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { OlderStoreError } from '#shared/stores/schema-step.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { migrateSqlite, type SqliteSchema, type SqliteStep } from '#shared/stores/sqlite-schema.ts'

const STEP: SqliteStep = {
  version: 2,
  name: 'texts have a length',
  up: (database) =>
    database.exec('ALTER TABLE texts ADD COLUMN length INTEGER; UPDATE texts SET length = length(text)'),
}
const FIRST: SqliteSchema = { create: ['CREATE TABLE texts (text TEXT)'], digest: 1, steps: [] }
const SECOND: SqliteSchema = { create: ['CREATE TABLE texts (text TEXT, length INTEGER)'], digest: 2, steps: [STEP] }

/** A path in a folder of its own, which is removed at the end. */
function folder() {
  const directory = mkdtempSync(join(tmpdir(), 'portico-schema-'))
  return { path: join(directory, 'texts.sqlite'), [Symbol.dispose]: () => rmSync(directory, { recursive: true }) }
}

async function rowsOf(path: string, schema: SqliteSchema): Promise<unknown[]> {
  await using file = new SqliteFile(path, { schema, exclusive: true })
  return file
    .statement('SELECT * FROM texts')
    .all()
    .map((row) => ({ ...row }))
}

/** Writes a file of the first version. */
async function writeFirst(path: string): Promise<void> {
  await using file = new SqliteFile(path, { schema: FIRST, exclusive: true })
  await file.write(() => file.statement(`INSERT INTO texts VALUES ('kept')`).run())
}

function versionOf(path: string): unknown {
  using database = new DatabaseSync(path, { readOnly: true })
  return database.prepare('PRAGMA user_version').get()?.user_version
}

function isError(message: string, type: new (...values: never[]) => Error = ConfigError) {
  return (error: unknown) => error instanceof type && error.message === message
}

test('creates the latest tables in an empty file, and opens it again', async () => {
  using file = folder()
  assert.deepEqual(await rowsOf(file.path, SECOND), [])
  assert.equal(versionOf(file.path), 2)
  assert.deepEqual(await rowsOf(file.path, SECOND), [])
})

test('refuses to open an older file, and leaves it as it was', async () => {
  using file = folder()
  await writeFirst(file.path)
  const refused = isError(
    `${file.path} was written by an older Portico (version 1 instead of 2): stop the processes that use it and run \`npm run migrate\``,
    OlderStoreError,
  )
  await assert.rejects(rowsOf(file.path, SECOND), refused)
  assert.deepEqual(await rowsOf(file.path, FIRST), [{ text: 'kept' }])
})

test('migrates an older file once, reports the step, and creates no file', async () => {
  using file = folder()
  const lines: string[] = []
  migrateSqlite(file.path, SECOND, true, (line) => lines.push(line))
  assert.throws(() => versionOf(file.path))
  await writeFirst(file.path)
  migrateSqlite(file.path, SECOND, true, (line) => lines.push(line))
  migrateSqlite(file.path, SECOND, true, (line) => lines.push(line))
  assert.deepEqual(lines, [`${file.path}: migrating it to version 2 (texts have a length)`])
  assert.deepEqual(await rowsOf(file.path, SECOND), [{ text: 'kept', length: 4 }])
})

test('refuses to open and to migrate what a newer program wrote', async () => {
  using file = folder()
  await rowsOf(file.path, SECOND)
  const refused = isError(
    `${file.path} was written by a newer Portico (version 2, this one knows 1): use that version, or name another store in PORTICO_DATA_DIR`,
  )
  await assert.rejects(rowsOf(file.path, FIRST), refused)
  assert.throws(() => migrateSqlite(file.path, FIRST, true, () => {}), refused)
  assert.equal(versionOf(file.path), 2)
})

test('refuses to open and to migrate a file of another digest, or of none, whatever its version', async () => {
  using file = folder()
  await writeFirst(file.path)
  const refused = isError(
    `${file.path} has another form, which other code from before the first release wrote: export its sessions with that code, or name another store in PORTICO_DATA_DIR`,
  )
  const isRefused = async (): Promise<void> => {
    await assert.rejects(rowsOf(file.path, { ...FIRST, digest: 3 }), refused)
    assert.throws(() => migrateSqlite(file.path, { ...FIRST, digest: 3 }, true, () => {}), refused)
  }
  await isRefused()
  for (const version of [17, 1, 0, -5]) {
    {
      using database = new DatabaseSync(file.path)
      database.exec(`PRAGMA application_id = 0; PRAGMA user_version = ${version}`)
    }
    await isRefused()
    assert.equal(versionOf(file.path), version)
  }
})

test('undoes a step that fails, names the file and the step in one line, and runs it again later', async () => {
  using file = folder()
  await writeFirst(file.path)
  const broken: SqliteStep = {
    ...STEP,
    up(database) {
      STEP.up(database)
      database.exec('ALTER TABLE texts ADD COLUMN text')
    },
  }
  assert.throws(
    () => migrateSqlite(file.path, { ...SECOND, steps: [broken] }, true, () => {}),
    isError(
      `${file.path} could not be migrated to version 2 (texts have a length) and is unchanged: duplicate column name: text`,
    ),
  )
  assert.deepEqual(await rowsOf(file.path, FIRST), [{ text: 'kept' }])
  migrateSqlite(file.path, SECOND, true, () => {})
  assert.deepEqual(await rowsOf(file.path, SECOND), [{ text: 'kept', length: 4 }])
})

test('runs each step once when processes migrate at the same time, also after one was killed in it', async () => {
  using file = folder()
  await writeFirst(file.path)
  const module = JSON.stringify(new URL('sqlite-schema.ts', import.meta.url).href)
  const migrate = async (within: string) => {
    const step = `up(database) { database.exec("ALTER TABLE texts ADD COLUMN length INTEGER"); ${within} }`
    const code = `import { migrateSqlite } from ${module}
      const schema = { create: [], digest: 2, steps: [{ version: 2, name: 'length', ${step} }] }
      migrateSqlite(${JSON.stringify(file.path)}, schema, false, () => {})`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'inherit' })
    const [status] = await once(child, 'close')
    return status
  }
  assert.equal(await migrate(`process.kill(process.pid, 'SIGKILL')`), null)
  assert.equal(versionOf(file.path), 1)
  assert.deepEqual(await Promise.all([migrate(''), migrate(''), migrate('')]), [0, 0, 0])
  assert.equal(versionOf(file.path), 2)
})
