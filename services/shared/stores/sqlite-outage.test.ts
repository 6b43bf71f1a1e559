import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import pino from 'pino'
import { systemClock } from '#shared/clock.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { SqliteFile } from '#shared/stores/sqlite.ts'
import { noteWholeStores, requireWholeStores } from '#shared/stores/store-files.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { watchStore } from '#shared/stores/store-watch.ts'
import { waitFor } from '#test/support/wait-until.ts'

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'portico-outage-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

/** A store of texts like that of a service: watched, and behind its port. */
function openStore(path: string, more = '') {
  const tables = `CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT); ${more}`
  const schema = { create: [tables], digest: 1, steps: [] }
  const file = new SqliteFile(path, { schema, exclusive: true })
  const lines: Record<string, unknown>[] = []
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const store = {
    probe: () => file.probe(),
    add: (text: string) => file.write(() => file.statement('INSERT INTO texts (text) VALUES (?)').run(text)),
    clear: () => file.write(() => file.statement('DELETE FROM texts').run()),
    count: async () => file.statement('SELECT count(text) AS count FROM texts').get()?.count,
  }
  const watch = watchStore(store, { name: 'texts', clock: systemClock, logger })
  const dispose = async () => {
    watch[Symbol.dispose]()
    await file[Symbol.asyncDispose]()
  }
  return { file, lines, watch, port: storePort(store, watch), [Symbol.asyncDispose]: dispose }
}

const UNAVAILABLE = { name: 'Rejection', reason: 'STORE_UNAVAILABLE' }

test('a full disk is an outage with its own reason in the log; writes that fit work, and all do when there is room again', async () => {
  using directory = folder()
  await using store = openStore(join(directory.path, 'texts.sqlite'), 'PRAGMA max_page_count = 12')
  const { port, lines } = store
  await port.add('small')
  const large = 'x'.repeat(100_000)
  // Jobs that share a transaction with one that finds no room fail with it or are stored; nothing is stored in part.
  const results = await Promise.allSettled([port.add('neighbour'), port.add(large), port.add('neighbour')])
  const kept = results.filter(({ status }) => status === 'fulfilled').length
  for (const result of results)
    if (result.status === 'rejected') assert.equal(result.reason.reason, 'STORE_UNAVAILABLE')
  assert.equal(results[1]?.status, 'rejected')
  assert.equal(await port.count(), 1 + kept)
  await waitFor('the log reports it', () => lines.length > 0)
  const [line] = lines
  assert.deepEqual([line?.store, line?.reason, line?.status, line?.err], ['texts', 'STORE_FULL', 507, undefined])
  assert.match(String(line?.msg), /texts\.sqlite: database or disk is full$/)
  store.file.statement('PRAGMA max_page_count = 1000').get()
  await port.add(large)
})

test('damaged pages that are met later are an outage, and one line of the log', async () => {
  using directory = folder()
  const path = join(directory.path, 'texts.sqlite')
  {
    await using store = openStore(path)
    for (let i = 0; i < 50; i++) await store.port.add('x'.repeat(3_000))
  }
  await using file = await open(path, 'r+')
  const { size } = statSync(path)
  for (let page = 10; page * 4_096 < size; page++) await file.write(Buffer.alloc(4_096, 0xaa), 0, 4_096, page * 4_096)
  await using store = openStore(path)
  for (let i = 0; i < 3; i++) await assert.rejects(store.port.count(), UNAVAILABLE)
  await waitFor('the log reports it', () => store.lines.length > 0)
  const [line, ...more] = store.lines
  assert.deepEqual([line?.reason, line?.err, more], ['STORE_DAMAGED', undefined, []])
  assert.deepEqual(store.watch.state(), { ok: false, kind: 'damaged' })
})

test('a removed write-ahead log is noticed, and nothing that was written before is lost with it', async () => {
  using directory = folder()
  const path = join(directory.path, 'texts.sqlite')
  await using store = openStore(path)
  await store.port.add('kept')
  rmSync(`${path}-wal`)
  const written = ['kept']
  await waitFor('it is noticed', () =>
    store.port.add('so far').then(
      () => {
        written.push('so far')
        return false
      },
      () => true,
    ),
  )
  await assert.rejects(store.port.add('lost'), UNAVAILABLE)
  assert.match(String(store.lines[0]?.msg), /texts\.sqlite-wal was removed or replaced while it was open$/)
  // As a process finds it that starts after this one was killed.
  copyFileSync(path, `${path}.copy`)
  using copy = new DatabaseSync(`${path}.copy`)
  const texts = copy.prepare('SELECT text FROM texts').all()
  assert.deepEqual(
    texts.map(({ text }) => text),
    written,
  )
})

test('a write that waits for its commit is refused, and not made, when a removed write-ahead log is noticed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  using directory = folder()
  const path = join(directory.path, 'texts.sqlite')
  await using store = openStore(path)
  await store.port.add('kept')
  rmSync(`${path}-wal`)
  const waiting = store.port.add('too late')
  t.mock.timers.tick(1_000)
  await assert.rejects(waiting, UNAVAILABLE)
  await setImmediate()
  assert.equal(await store.port.count(), 1)
})

test('nothing is written to a file that was removed or replaced while it was open, nor to one that is damaged', async () => {
  using directory = folder()
  const path = join(directory.path, 'texts.sqlite')
  await using store = openStore(path)
  await store.port.add('kept')
  rmSync(path)
  writeFileSync(path, 'another one')
  await waitFor('it is noticed', () =>
    store.port.add('lost').then(
      () => false,
      () => true,
    ),
  )
  await assert.rejects(store.port.add('lost'), UNAVAILABLE)
  assert.deepEqual(store.watch.state(), { ok: false, kind: 'damaged' })
  const [line, ...more] = store.lines
  assert.deepEqual([line?.reason, more], ['STORE_DAMAGED', []])
  assert.match(String(line?.msg), /texts\.sqlite was removed or replaced while it was open$/)
})

test('a file that is not SQLite, or has damaged pages where a start reads, is one line that names it', () => {
  using directory = folder()
  const path = join(directory.path, 'texts.sqlite')
  writeFileSync(path, 'no database, but long enough to be taken for one. '.repeat(100))
  const oneLine = (error: Error) =>
    error instanceof ConfigError && error.message.includes(path) && !error.message.includes('\n    at ')
  assert.throws(() => openStore(path), oneLine)
})

test('a part of the store that is missing or empty beside the others is refused with what to do', () => {
  using directory = folder()
  const store = { kind: 'sqlite', directory: directory.path } as const
  const path = (name: string) => join(directory.path, name)
  const names = ['identity.sqlite', 'inference.sqlite', 'presets.sqlite', 'session.sqlite']
  const refused = (name: string, why: string) => (error: Error) => {
    const parts = [path(name), ` is ${why}, but other parts`, 'restore the file', 'PORTICO_DATA_DIR']
    return error instanceof ConfigError && parts.every((part) => error.message.includes(part))
  }
  // A first start that was killed in the middle.
  requireWholeStores(store)
  writeFileSync(path('identity.sqlite'), 'x')
  writeFileSync(path('inference.sqlite'), '')
  requireWholeStores(store)
  // The write-ahead log of a file that is gone.
  writeFileSync(path('session.sqlite-wal'), 'x')
  assert.throws(() => requireWholeStores(store), refused('session.sqlite', 'missing'))

  for (const name of [...names, 'blobs']) writeFileSync(path(name), 'x')
  noteWholeStores(store)
  requireWholeStores(store)
  for (const name of names) {
    truncateSync(path(name))
    assert.throws(() => requireWholeStores(store), refused(name, 'empty'))
    rmSync(path(name))
    assert.throws(() => requireWholeStores(store), refused(name, 'missing'))
    writeFileSync(path(name), 'x')
  }
  requireWholeStores(store)
})
