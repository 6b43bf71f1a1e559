import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFileBlobStore } from '#services/session/adapters/files/blob-store.ts'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { type BlobFixture, blobStoreSuite, newHold } from './blob-store.suite.ts'

async function open(): Promise<BlobFixture & { readonly directory: string; restart(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-blobs-'))
  const directory = join(folder, 'blobs')
  const openSessions = () => openSqliteSessionStore({ path: join(folder, 'session.sqlite'), clock: systemClock })
  let sessions = await openSessions()
  let store = await openFileBlobStore({ directory, uses: sessions.blobUses })
  return {
    directory,
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

test('what a crash left half written is gone after the next opening', async () => {
  await using fixture = await open()
  await fixture.store.put('wrk_one', Buffer.from('whole'), newHold())
  await writeFile(join(fixture.directory, 'unfinished', 'x'), 'hal')
  await fixture.reopen()
  assert.deepEqual(await readdir(join(fixture.directory, 'unfinished')), [])
  assert.equal((await readdir(join(fixture.directory, 'wrk_one'))).length, 1)
})

test('what a crash kept from being used is deleted after a restart', async () => {
  await using fixture = await open()
  const { hash } = await fixture.store.put('wrk_one', Buffer.from('whole'), newHold())
  await fixture.restart()
  await fixture.store.sweep()
  assert.equal(await fixture.store.get('wrk_one', hash), undefined)
  assert.deepEqual(await readdir(join(fixture.directory, 'wrk_one')), [])
})

test('a workspace never names a folder elsewhere', async () => {
  await using fixture = await open()
  await assert.rejects(fixture.store.put('wrk_/../..', Buffer.from('x'), newHold()), RangeError)
  await assert.rejects(fixture.store.put('unfinished', Buffer.from('x'), newHold()), RangeError)
})
