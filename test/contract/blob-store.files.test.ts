import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type BlobUses, openFileBlobStore } from '#services/session/adapters/files/blob-store.ts'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { BlobHold } from '#services/session/ports/blob-store.ts'
import { systemClock } from '#shared/clock.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { blobStoreSuite } from './blob-store.suite.ts'
import { type BlobFixture, newHold } from './blob-store.support.ts'

interface FileFixture extends BlobFixture {
  readonly directory: string
  readonly uses: BlobUses
  restart(): Promise<void>
}

async function open(): Promise<FileFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-blobs-'))
  const directory = join(folder, 'blobs')
  const openSessions = () => openSqliteSessionStore({ path: join(folder, 'session.sqlite'), clock: systemClock })
  let sessions = await openSessions()
  let store = await openFileBlobStore({ directory, uses: sessions.blobUses })
  return {
    directory,
    get uses() {
      return sessions.blobUses
    },
    get store() {
      return store
    },
    get sessions() {
      return withUseCases(sessions)
    },
    reopen: () => openFileBlobStore({ directory, uses: sessions.blobUses }),
    async restart() {
      await sessions[Symbol.asyncDispose]()
      sessions = await openSessions()
      store = await openFileBlobStore({ directory, uses: sessions.blobUses })
    },
    async [Symbol.asyncDispose]() {
      await sessions[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

blobStoreSuite('files', open)

test('a half-written file of a crash is removed at the next opening', async () => {
  await using fixture = await open()
  await fixture.store.put('wrk_one', Buffer.from('whole'), newHold())
  await writeFile(join(fixture.directory, 'unfinished', 'x'), 'hal')
  await fixture.reopen()
  assert.deepEqual(await readdir(join(fixture.directory, 'unfinished')), [])
  assert.equal((await readdir(join(fixture.directory, 'wrk_one'))).length, 1)
})

test('a folder that was removed is made again with the next content', async () => {
  await using fixture = await open()
  const { store, directory } = fixture
  const lost = await store.put('wrk_one', Buffer.from('content'), newHold())
  await rm(directory, { recursive: true })
  assert.equal(await store.get('wrk_one', lost.hash), undefined)
  await store.put('wrk_one', Buffer.from('content'), newHold())
  assert.equal((await store.get('wrk_one', lost.hash))?.toString(), 'content')
})

for (const size of [5, 100_000, 3_000_000]) {
  test(`${size} bytes that were damaged are missing until the same content is put again`, async () => {
    await using fixture = await open()
    const { store, directory } = fixture
    const whole = randomBytes(size)
    const { hash } = await store.put('wrk_one', whole, newHold())
    const path = join(directory, 'wrk_one', hash)
    const flipped = Buffer.from(whole)
    flipped.writeUInt8(flipped.readUInt8(size - 1) ^ 1, size - 1)
    for (const damaged of [flipped, whole.subarray(1), Buffer.concat([whole, whole]), Buffer.alloc(0)]) {
      await writeFile(path, damaged)
      assert.equal(await store.get('wrk_one', hash), undefined)
      await store.put('wrk_one', whole, newHold())
      assert.ok(whole.equals((await store.get('wrk_one', hash)) ?? Buffer.alloc(0)))
    }
    assert.deepEqual(await readdir(join(directory, 'unfinished')), [])
  })
}

const intruders: Readonly<Record<string, (path: string) => unknown>> = {
  'a directory': (path) => mkdir(join(path, 'inner'), { recursive: true }),
  'a named pipe': (path) => execFileSync('mkfifo', [path]),
}
for (const [name, make] of Object.entries(intruders)) {
  test(`${name} in the place of a blob counts as a missing blob`, { skip: process.platform === 'win32' }, async () => {
    await using fixture = await open()
    const { store, directory } = fixture
    const whole = Buffer.from('whole')
    const hold = newHold()
    const { hash } = await store.put('wrk_one', whole, hold)
    const path = join(directory, 'wrk_one', hash)
    await rm(path)
    await make(path)
    assert.deepEqual([await store.get('wrk_one', hash), await store.has('wrk_one', hash)], [undefined, false])
    await store.put('wrk_one', whole, hold)
    assert.deepEqual(await store.get('wrk_one', hash), whole)
    await rm(path)
    await make(path)
    await store.release(hold)
    while (await store.sweep());
    assert.deepEqual(await readdir(join(directory, 'wrk_one')), [])
  })
}

test('a blob that cannot be deleted does not keep the others from being deleted', async () => {
  await using fixture = await open()
  const { uses, directory } = fixture
  const failing: typeof uses = {
    isUsed: (key) => uses.isUsed(key),
    note: (key) => uses.note(key),
    settle: (keys) => uses.settle(keys),
    loose: (after, limit) => uses.loose(after, limit),
    forget: (key) => (key.hash === first ? Promise.reject(new Error('not this one')) : uses.forget(key)),
  }
  const store = await openFileBlobStore({ directory, uses: failing })
  const hold = newHold()
  const refs = await Promise.all(
    Array.from({ length: 50 }, (_, n) => store.put('wrk_one', Buffer.from(`content ${n}`), hold)),
  )
  const [first] = refs.map(({ hash }) => hash).sort()
  await store.release(hold)
  await assert.rejects(store.sweep(), { message: 'not this one' })
  while (await store.sweep());
  assert.deepEqual(await readdir(join(directory, 'wrk_one')), [])
  assert.deepEqual(
    uses.loose(undefined, 9).map(({ hash }) => hash),
    [first],
  )
})

test('content that is intact is not written again', async () => {
  await using fixture = await open()
  const { hash } = await fixture.store.put('wrk_one', Buffer.from('whole'), newHold())
  const path = join(fixture.directory, 'wrk_one', hash)
  const { ino } = await stat(path)
  await fixture.store.put('wrk_one', Buffer.from('whole'), newHold())
  assert.equal((await stat(path)).ino, ino)
})

test('content that a crash left unused is deleted after a restart', async () => {
  await using fixture = await open()
  const { hash } = await fixture.store.put('wrk_one', Buffer.from('whole'), newHold())
  await fixture.restart()
  await fixture.store.sweep()
  assert.equal(await fixture.store.get('wrk_one', hash), undefined)
  assert.deepEqual(await readdir(join(fixture.directory, 'wrk_one')), [])
})

test('a sweep looks at few of the held blobs in one turn of the event loop, and at none twice', async () => {
  await using fixture = await open()
  const { uses } = fixture
  const asked = { looked: 0, inThisTurn: 0, mostInOneTurn: 0 }
  const count = (keys: number): void => {
    if (asked.inThisTurn === 0) setImmediate(() => Object.assign(asked, { inThisTurn: 0 }))
    asked.looked += keys
    asked.inThisTurn += keys
    asked.mostInOneTurn = Math.max(asked.mostInOneTurn, asked.inThisTurn)
  }
  const counted: typeof uses = {
    isUsed: (key) => uses.isUsed(key),
    note: (key) => uses.note(key),
    settle: (keys) => uses.settle(keys),
    forget: (key) => uses.forget(key),
    loose(after, limit) {
      const keys = uses.loose(after, limit)
      count(keys.length)
      return keys
    },
  }
  const store = await openFileBlobStore({ directory: fixture.directory, uses: counted })
  const [held, given] = [newHold(), newHold()]
  const put = (hold: BlobHold, n: number) => store.put('wrk_one', Buffer.from(`${hold.id} ${n}`), hold)
  await Promise.all(Array.from({ length: 400 }, (_, n) => put(held, n)))
  await Promise.all(Array.from({ length: 60 }, (_, n) => put(given, n)))
  await store.release(given)
  while (await store.sweep());
  assert.equal((await readdir(join(fixture.directory, 'wrk_one'))).length, 400)
  assert.ok(asked.mostInOneTurn <= 200, `${asked.mostInOneTurn} in one turn`)
  assert.ok(asked.looked <= 920, `${asked.looked} looked at`)
  await store.release(held)
  while (await store.sweep());
  assert.deepEqual(await readdir(join(fixture.directory, 'wrk_one')), [])
})

test('the name of a workspace cannot lead to a folder elsewhere', async () => {
  await using fixture = await open()
  await assert.rejects(fixture.store.put('wrk_/../..', Buffer.from('x'), newHold()), RangeError)
  await assert.rejects(fixture.store.put('unfinished', Buffer.from('x'), newHold()), RangeError)
})
