import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { fork, race } from './blob-store.race.ts'
import { type BlobFixture, newHold, promptWith, sweepAll, W } from './blob-store.support.ts'
import { finishRemovals } from './session-store.removal.ts'
import { acquire, newSession } from './session-store.support.ts'

const MIB = 1024 * 1024

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
        const ref = await store.put(W, data, newHold())
        assert.deepEqual([ref.hash, ref.size], [createHash('sha256').update(data).digest('hex'), size])
        const later = await reopen()
        assert.equal(await later.has(W, ref.hash), true)
        assert.ok(Buffer.from((await later.get(W, ref.hash)) ?? [1]).equals(data))
      })
    }

    run('refuses more than 20 MiB', async ({ store }) => {
      await assert.rejects(store.put(W, Buffer.alloc(20 * MIB + 1), newHold()), RangeError)
    })

    run('returns undefined for content that a workspace does not have', async ({ store }) => {
      const { hash } = await store.put(W, Buffer.from('mine'), newHold())
      assert.equal(await store.get('wrk_other', hash), undefined)
      assert.equal(await store.has('wrk_other', hash), false)
      assert.equal(await store.get(W, createHash('sha256').update('none').digest('hex')), undefined)
      for (const wrong of ['', '..', `../${W}/${hash}`, hash.toUpperCase(), `${hash}0`]) {
        assert.equal(await store.get(W, wrong), undefined)
        assert.equal(await store.has(W, wrong), false)
      }
    })

    run('equal content is stored once, however often it is put', async ({ store }) => {
      const data = randomBytes(MIB)
      const refs = await Promise.all(Array.from({ length: 8 }, () => store.put(W, data, newHold())))
      refs.push(await store.put(W, data, newHold()))
      assert.equal(new Set(refs.map(({ hash }) => hash)).size, 1)
      assert.ok(Buffer.from((await store.get(W, refs[0]?.hash ?? '')) ?? []).equals(data))
    })

    run('takes a part of a larger buffer for the part alone', async ({ store }) => {
      const { hash } = await store.put(W, Buffer.from('before content after').subarray(7, 14), newHold())
      assert.equal(Buffer.from((await store.get(W, hash)) ?? []).toString(), 'content')
    })
    run('held content stays, used content stays after its hold, and other content is deleted', async (fixture) => {
      const { store, sessions } = fixture
      const hold = newHold()
      const { hash } = await store.put(W, Buffer.from('refused'), hold)
      await sweepAll(fixture)
      assert.ok(await store.get(W, hash))
      await store.release(hold)
      await sweepAll(fixture)
      assert.equal(await store.get(W, hash), undefined)
      await sessions.createSession(W, newSession())
      const used = await promptWith(fixture, 'ses_1', 'msg_1', Buffer.from('used'))
      await sweepAll(fixture)
      assert.ok(await store.get(W, used))
      const again = await store.put(W, Buffer.from('refused'), newHold())
      assert.equal(Buffer.from((await store.get(W, again.hash)) ?? []).toString(), 'refused')
    })

    run('content that one caller has released stays while another one holds it', async (fixture) => {
      const { store } = fixture
      const [first, second] = [newHold(), newHold()]
      const { hash } = await store.put(W, Buffer.from('held'), first)
      await store.put(W, Buffer.from('held'), second)
      await store.release(first)
      await sweepAll(fixture)
      assert.ok(await store.get(W, hash))
      await store.release(second)
      await sweepAll(fixture)
      assert.equal(await store.get(W, hash), undefined)
    })

    run('content is deleted with the last session that uses it in its inbox or its messages', async (fixture) => {
      const { store, sessions } = fixture
      const data = randomBytes(100_000)
      for (const id of ['ses_1', 'ses_2', 'ses_3']) await sessions.createSession(W, newSession(id))
      const hash = await promptWith(fixture, 'ses_1', 'msg_1', data)
      await promptWith(fixture, 'ses_2', 'msg_2', data)
      await promptWith(fixture, 'ses_3', 'msg_3', randomBytes(10))
      const lease = await acquire(sessions, 60_000)
      await sessions.promote(lease, 'idle')
      const remove = async (id: string): Promise<boolean> => {
        await sessions.removeSession(W, id)
        await finishRemovals(sessions)
        await sweepAll(fixture)
        return (await store.get(W, hash)) !== undefined
      }
      assert.equal(await remove('ses_1'), true)
      assert.equal(await remove('ses_3'), true)
      assert.equal(await remove('ses_2'), false)
      const other = await store.put('wrk_other', data, newHold())
      assert.ok(await store.get('wrk_other', other.hash))
    })

    run('a fork keeps the content of its source', async (fixture) => {
      const { store, sessions } = fixture
      await sessions.createSession(W, newSession())
      const hash = await promptWith(fixture, 'ses_1', 'msg_1', Buffer.from('content'))
      await sessions.promote(await acquire(sessions, 60_000), 'idle')
      await fork(fixture, 'ses_1', 'ses_2')
      for (const [id, stays] of [
        ['ses_1', true],
        ['ses_2', false],
      ] as const) {
        await sessions.removeSession(W, id)
        await finishRemovals(sessions)
        await sweepAll(fixture)
        assert.equal((await store.get(W, hash)) !== undefined, stays, id)
      }
    })

    run('prompts, imports, forks, removals and sweeps at once: no reference is left without content', race)
  })
}
