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
import { migrateSqlite, type SqliteStep } from '#shared/stores/sqlite-schema.ts'

const FIRST: SqliteStep = {
  version: 1,
  name: 'texts',
  up: (database) => database.exec('CREATE TABLE IF NOT EXISTS texts (text TEXT)'),
}
const SECOND: SqliteStep = {
  version: 2,
  name: 'texts have a length',
  up: (database) =>
    database.exec('ALTER TABLE texts ADD COLUMN length INTEGER; UPDATE texts SET length = length(text)'),
}

/** A path in a folder of its own, which is removed at the end. */
function folder() {
  const directory = mkdtempSync(join(tmpdir(), 'portico-schema-'))
  return { path: join(directory, 'texts.sqlite'), [Symbol.dispose]: () => rmSync(directory, { recursive: true }) }
}

async function rowsOf(path: string, steps: readonly SqliteStep[]): Promise<unknown[]> {
  await using file = new SqliteFile(path, { steps, exclusive: true })
  return file
    .statement('SELECT * FROM texts')
    .all()
    .map((row) => ({ ...row }))
}

/** What a process wrote before files had a version. */
function writeUnnumbered(path: string): void {
  using database = new DatabaseSync(path)
  database.exec(`CREATE TABLE texts (text TEXT); INSERT INTO texts VALUES ('kept')`)
}

function versionOf(path: string): unknown {
  using database = new DatabaseSync(path, { readOnly: true })
  return database.prepare('PRAGMA user_version').get()?.user_version
}

test('an empty file goes through all steps at once and knows its version', async () => {
  using file = folder()
  assert.deepEqual(await rowsOf(file.path, [FIRST, SECOND]), [])
  assert.equal(versionOf(file.path), 2)
  assert.deepEqual(await rowsOf(file.path, [FIRST, SECOND]), [])
})

test('a file without a version but with tables is of version 1, and an older one waits for its steps, untouched', async () => {
  using file = folder()
  writeUnnumbered(file.path)
  assert.deepEqual(await rowsOf(file.path, [FIRST]), [{ text: 'kept' }])
  await assert.rejects(
    rowsOf(file.path, [FIRST, SECOND]),
    (error) =>
      error instanceof OlderStoreError &&
      error.message ===
        `${file.path} was written by an older Portico (version 1 instead of 2): stop the processes that use it and run \`npm run migrate\``,
  )
  assert.deepEqual(await rowsOf(file.path, [FIRST]), [{ text: 'kept' }])
})

test('migrating runs what is missing, reports it, and changes nothing the second time; a file that is not there is not made', async () => {
  using file = folder()
  const schema = { path: file.path, steps: [FIRST, SECOND] }
  const lines: string[] = []
  migrateSqlite(schema, true, (line) => lines.push(line))
  assert.throws(() => versionOf(file.path))
  writeUnnumbered(file.path)
  migrateSqlite(schema, true, (line) => lines.push(line))
  migrateSqlite(schema, true, (line) => lines.push(line))
  assert.deepEqual(lines, [`${file.path}: migrating it to version 2 (texts have a length)`])
  assert.deepEqual(await rowsOf(file.path, schema.steps), [{ text: 'kept', length: 4 }])
})

test('what a newer program wrote is refused in one line, by a start and by migrating', async () => {
  using file = folder()
  await rowsOf(file.path, [FIRST, SECOND])
  const oneLine = (error: unknown) =>
    error instanceof ConfigError &&
    error.message ===
      `${file.path} was written by a newer Portico (version 2, this one knows 1): use that version, or name another store in PORTICO_DATA_DIR`
  await assert.rejects(rowsOf(file.path, [FIRST]), oneLine)
  assert.throws(() => migrateSqlite({ path: file.path, steps: [FIRST] }, true, () => {}), oneLine)
  assert.equal(versionOf(file.path), 2)
})

test('a step that fails leaves nothing behind, and is run again', async () => {
  using file = folder()
  writeUnnumbered(file.path)
  const broken: SqliteStep = {
    ...SECOND,
    up(database) {
      SECOND.up(database)
      throw new Error('no more room')
    },
  }
  assert.throws(() => migrateSqlite({ path: file.path, steps: [FIRST, broken] }, true, () => {}), /no more room/)
  assert.deepEqual(await rowsOf(file.path, [FIRST]), [{ text: 'kept' }])
  migrateSqlite({ path: file.path, steps: [FIRST, SECOND] }, true, () => {})
  assert.deepEqual(await rowsOf(file.path, [FIRST, SECOND]), [{ text: 'kept', length: 4 }])
})

test('processes that migrate at once, one of them killed in the middle, run each step once', async () => {
  using file = folder()
  writeUnnumbered(file.path)
  const module = JSON.stringify(new URL('sqlite-schema.ts', import.meta.url).href)
  const migrate = async (within: string) => {
    const step = `up(database) { database.exec("ALTER TABLE texts ADD COLUMN length INTEGER"); ${within} }`
    const code = `import { migrateSqlite } from ${module}
      const steps = [{ version: 1, name: 'texts', up() {} }, { version: 2, name: 'length', ${step} }]
      migrateSqlite({ path: ${JSON.stringify(file.path)}, steps }, false, () => {})`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'inherit' })
    const [status] = await once(child, 'close')
    return status
  }
  assert.equal(await migrate(`process.kill(process.pid, 'SIGKILL')`), null)
  assert.equal(versionOf(file.path), 1)
  assert.deepEqual(await Promise.all([migrate(''), migrate(''), migrate('')]), [0, 0, 0])
  assert.equal(versionOf(file.path), 2)
})

test('a step that fails is one line that names the file and the step, and leaves the file as it was', async () => {
  using file = folder()
  await rowsOf(file.path, [FIRST])
  const fails = { ...SECOND, up: (database: DatabaseSync) => database.exec('ALTER TABLE texts ADD COLUMN text') }
  assert.throws(
    () => migrateSqlite({ path: file.path, steps: [FIRST, fails] }, true, () => {}),
    (error: Error) =>
      error instanceof ConfigError &&
      error.message ===
        `${file.path} could not be migrated to version 2 (texts have a length) and is unchanged: duplicate column name: text`,
  )
  assert.equal(versionOf(file.path), 1)
})

test('a file with a version that no program wrote is refused, and nothing is written to it', () => {
  using file = folder()
  {
    using database = new DatabaseSync(file.path)
    database.exec('CREATE TABLE texts (text TEXT); PRAGMA user_version = -5')
  }
  const refused = (error: Error) =>
    error instanceof ConfigError && error.message === `${file.path} has version -5, which was not written by Portico`
  assert.throws(() => migrateSqlite({ path: file.path, steps: [FIRST, SECOND] }, true, () => {}), refused)
  assert.throws(() => new SqliteFile(file.path, { steps: [FIRST, SECOND], exclusive: true }), refused)
  assert.equal(versionOf(file.path), -5)
})
