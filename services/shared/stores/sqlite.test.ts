import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SqliteFile, type SqliteOptions } from '#shared/stores/sqlite.ts'
import { SqliteBusyError } from '#shared/stores/sqlite-database.ts'

const tables = `CREATE TABLE parent (id INTEGER PRIMARY KEY);
  CREATE TABLE child (
    id INTEGER PRIMARY KEY,
    parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED
  )`
const schema = { create: [tables], digest: 1, steps: [] }

/** An open file in a folder of its own; both are removed at the end. */
async function openFile(options: Partial<SqliteOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'portico-sqlite-'))
  const path = join(directory, 'deep', 'test.sqlite')
  const open = () => new SqliteFile(path, { schema, exclusive: false, ...options })
  const file = open()
  return {
    path,
    open,
    file,
    insert: (id: number) => file.write(() => void file.statement('INSERT INTO parent VALUES (?)').run(id)),
    ids: () =>
      file
        .statement('SELECT id FROM parent ORDER BY id')
        .all()
        .map((row) => row.id),
    async [Symbol.asyncDispose]() {
      await file[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

test('writes of one turn share a commit and are not seen before it; each gets its own answer', async () => {
  await using store = await openFile()
  using other = new DatabaseSync(store.path)
  const seen: unknown[] = []
  const jobs = [1, 2, 3].map((id) =>
    store.file.write(() => {
      store.file.statement('INSERT INTO parent VALUES (?)').run(id)
      seen.push(other.prepare('SELECT count(*) AS count FROM parent').get()?.count)
      return id * 10
    }),
  )
  assert.deepEqual(store.ids(), [])
  assert.deepEqual(await Promise.all(jobs), [10, 20, 30])
  assert.deepEqual(seen, [0, 0, 0])
  assert.deepEqual(other.prepare('SELECT count(*) AS count FROM parent').get()?.count, 3)
})

test('a job that throws rolls back only itself, and gets back what it threw', async () => {
  await using store = await openFile()
  const failure = new Error('refused')
  const results = await Promise.allSettled([
    store.insert(1),
    store.file.write(() => {
      store.file.statement('INSERT INTO parent VALUES (2)').run()
      throw failure
    }),
    store.insert(1),
    store.insert(3),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  )
  assert.equal((results[1] as PromiseRejectedResult).reason, failure)
  assert.deepEqual(store.ids(), [1, 3])
})

test('jobs have savepoints only if one that may have written throws; then all run again, and the effects of their first run in memory are undone', async (t) => {
  let undone = 0
  await using opened = await openFile({ undone: () => undone++ })
  const { file, ids } = opened
  const exec = t.mock.method(DatabaseSync.prototype, 'exec')
  const savepoints = () => exec.mock.calls.filter(({ arguments: [sql] }) => sql.startsWith('SAVEPOINT')).length
  const ran: number[] = []
  const insert = (id: number): Promise<void> => {
    return file.write(() => {
      ran.push(id)
      file.statement('INSERT INTO parent VALUES (?)').run(id)
    })
  }
  await Promise.all([insert(1), insert(2)])
  assert.deepEqual([ran, savepoints(), undone], [[1, 2], 0, 0])
  const results = await Promise.allSettled([insert(3), insert(1), insert(4)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual([ids(), ran, savepoints(), undone], [[1, 2, 3, 4], [1, 2, 3, 1, 3, 1, 4], 3, 1])
})

test('a job that refuses before it writes makes no other run again', async () => {
  await using opened = await openFile()
  const { file, ids } = opened
  const ran: number[] = []
  const insert = (id: number): Promise<number> => {
    const decide = (): number => {
      if (ids().includes(id)) throw new Error('taken')
      return id * 10
    }
    return file.decideAndWrite(decide, (decided) => {
      ran.push(id)
      file.statement('INSERT INTO parent VALUES (?)').run(id)
      return decided
    })
  }
  const results = await Promise.allSettled([insert(1), insert(1), insert(2)])
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    [10, 'Error: taken', 20],
  )
  assert.deepEqual(
    [ids(), ran],
    [
      [1, 2],
      [1, 2],
    ],
  )
})

test('a job that refused in a restarted transaction stays refused', async () => {
  await using store = await openFile()
  let calls = 0
  const refusing = store.file.decideAndWrite(
    () => {
      calls += 1
      throw new Error(`refused ${calls}`)
    },
    () => assert.fail('it was refused'),
  )
  const results = await Promise.allSettled([refusing, store.insert(1), store.insert(1)])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected'],
  )
  assert.match(String((results[0] as PromiseRejectedResult).reason), /refused 1/)
  assert.deepEqual([store.ids(), calls], [[1], 1])
})

test('a commit that fails rejects every job of its turn and keeps nothing; the next turn works', async () => {
  await using store = await openFile()
  const orphan = store.file.write(() => store.file.statement('INSERT INTO child VALUES (1, 99)').run())
  const results = await Promise.allSettled([store.insert(1), orphan, store.insert(2)])
  for (const result of results) {
    assert.ok(result.status === 'rejected' && /FOREIGN KEY/.test(String(result.reason)))
  }
  assert.deepEqual(store.ids(), [])
  await store.insert(4)
  assert.deepEqual(store.ids(), [4])
})

test('a write that resolved is there after the file was reopened', async () => {
  await using store = await openFile()
  await store.insert(1)
  await store.file[Symbol.asyncDispose]()
  await using again = store.open()
  assert.equal(again.statement('SELECT count(*) AS count FROM parent').get()?.count, 1)
})

test('closing commits the jobs from before, and refuses later ones', async () => {
  await using store = await openFile()
  const before = store.insert(1)
  await store.file[Symbol.asyncDispose]()
  await before
  await assert.rejects(store.insert(2), /closed/)
  await using again = store.open()
  assert.equal(again.statement('SELECT count(*) AS count FROM parent').get()?.count, 1)
})

test('an exclusive file keeps others out of it until it is closed', async () => {
  await using store = await openFile({ exclusive: true })
  assert.throws(() => store.open(), SqliteBusyError)
  await store.insert(1)
  assert.throws(() => store.open(), SqliteBusyError)
  await store.file[Symbol.asyncDispose]()
  await store.open()[Symbol.asyncDispose]()
})

test('a process that is killed lets go of its exclusive file, and what it had written is there', async () => {
  await using store = await openFile({ exclusive: true })
  await store.file[Symbol.asyncDispose]()
  const module = JSON.stringify(new URL('sqlite.ts', import.meta.url).href)
  const code = `import { SqliteFile } from ${module}
    const file = new SqliteFile(${JSON.stringify(store.path)}, { schema: { create: [], digest: 1, steps: [] }, exclusive: true })
    await file.write(() => file.statement('INSERT INTO parent VALUES (7)').run())
    console.log('written')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  assert.throws(() => store.open(), SqliteBusyError)
  child.kill('SIGKILL')
  await once(child, 'close')
  await using again = store.open()
  assert.equal(again.statement('SELECT id FROM parent').get()?.id, 7)
})

test('a rollback that a failing disk prevents is made before the next write, and nobody waits for ever', async (t) => {
  await using store = await openFile()
  const { exec } = DatabaseSync.prototype
  const rollBack = t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, sql: string) {
    if (sql === 'ROLLBACK' && rollBack.mock.callCount() < 2) throw new Error('disk I/O error')
    exec.call(this, sql)
  })
  const lost = store.file.write(() => {
    store.file.statement('INSERT INTO parent VALUES (1)').run()
    throw new Error('no')
  })
  await assert.rejects(lost, /no/)
  await assert.rejects(store.insert(2), /disk I\/O error/)
  await store.insert(3)
  assert.deepEqual(store.ids(), [3])
})
