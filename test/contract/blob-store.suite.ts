import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import type { BlobStore } from '#services/session/ports/blob-store.ts'

/** An empty blob store. */
export interface BlobFixture extends AsyncDisposable {
  readonly store: BlobStore
  /** Another store on the same content. */
  reopen(): Promise<BlobStore>
}

const MIB = 1024 * 1024
const W = 'wrk_one'

/** What `BlobStore` promises. `open` makes an empty store for each test. */
export function blobStoreSuite(
  name: string,
  open: () => Promise<BlobFixture>,
  options: { readonly skip?: string | false } = {},
): void {
  suite(`BlobStore on ${name}`, { skip: options.skip ?? false }, () => {
    const run = (title: string, body: (fixture: BlobFixture) => Promise<void>): void => {
      test(title, async () => {
        await using fixture = await open()
        await body(fixture)
      })
    }

    for (const size of [0, 1, 100_000, 8 * MIB, 8 * MIB + 1, 20 * MIB]) {
      run(`keeps ${size} bytes under their SHA-256, for whoever opens it later`, async ({ store, reopen }) => {
        const data = randomBytes(size)
        const ref = await store.put(W, data)
        assert.deepEqual(ref, { hash: createHash('sha256').update(data).digest('hex'), size })
        const later = await reopen()
        assert.ok(Buffer.from((await later.get(W, ref.hash)) ?? [1]).equals(data))
      })
    }

    run('refuses more than 20 MiB', async ({ store }) => {
      await assert.rejects(store.put(W, Buffer.alloc(20 * MIB + 1)), RangeError)
    })

    run('answers undefined for what a workspace does not have', async ({ store }) => {
      const { hash } = await store.put(W, Buffer.from('mine'))
      assert.equal(await store.get('wrk_other', hash), undefined)
      assert.equal(await store.get(W, createHash('sha256').update('none').digest('hex')), undefined)
      for (const wrong of ['', '..', `../${W}/${hash}`, hash.toUpperCase(), `${hash}0`]) {
        assert.equal(await store.get(W, wrong), undefined)
      }
    })

    run('the same content at once and again is one content', async ({ store }) => {
      const data = randomBytes(MIB)
      const refs = await Promise.all(Array.from({ length: 8 }, () => store.put(W, data)))
      refs.push(await store.put(W, data))
      assert.equal(new Set(refs.map(({ hash }) => hash)).size, 1)
      assert.ok(Buffer.from((await store.get(W, refs[0]?.hash ?? '')) ?? []).equals(data))
    })

    run('takes a part of a larger buffer for the part alone', async ({ store }) => {
      const { hash } = await store.put(W, Buffer.from('before content after').subarray(7, 14))
      assert.equal(Buffer.from((await store.get(W, hash)) ?? []).toString(), 'content')
    })
  })
}
