import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFileBlobStore } from '#services/session/adapters/files/blob-store.ts'
import { type BlobFixture, blobStoreSuite } from './blob-store.suite.ts'

async function open(): Promise<BlobFixture & { readonly directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-blobs-'))
  return {
    directory,
    store: await openFileBlobStore({ directory }),
    reopen: () => openFileBlobStore({ directory }),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

blobStoreSuite('files', open)

test('what a crash left half written is gone after the next opening', async () => {
  await using fixture = await open()
  await fixture.store.put('wrk_one', Buffer.from('whole'))
  await writeFile(join(fixture.directory, 'unfinished', 'x'), 'hal')
  await fixture.reopen()
  assert.deepEqual(await readdir(join(fixture.directory, 'unfinished')), [])
  assert.equal((await readdir(join(fixture.directory, 'wrk_one'))).length, 1)
})

test('a workspace never names a folder elsewhere', async () => {
  await using fixture = await open()
  await assert.rejects(fixture.store.put('wrk_/../..', Buffer.from('x')), RangeError)
  await assert.rejects(fixture.store.put('unfinished', Buffer.from('x')), RangeError)
})
