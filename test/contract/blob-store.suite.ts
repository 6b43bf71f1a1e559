import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Prompt } from '#services/session/domain/message.ts'
import type { BlobHold, BlobStore } from '#services/session/ports/blob-store.ts'
import { forkSession } from '#services/session/run/lifetime/fork-session.ts'
import { holdingBlobs } from '#services/session/run/lifetime/holding-blobs.ts'
import { systemClock } from '#shared/clock.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { finishRemovals } from './session-store.removal.ts'
import { acquire, admission, newSession } from './session-store.support.ts'

/** An empty blob store. */
export interface BlobFixture extends AsyncDisposable {
  readonly store: BlobStore
  /** The sessions that refer to its content. */
  readonly sessions: UseCases
  /** Another store on the same content. */
  reopen(): Promise<BlobStore>
}

const MIB = 1024 * 1024
const W = 'wrk_one'

/** A hold of nothing yet. */
export function newHold(): BlobHold {
  return { id: `hold_${Math.random()}`, held: [] }
}

/** Admits a prompt with a file, as the service does. */
async function promptWith(
  { store, sessions }: BlobFixture,
  sessionId: string,
  id: string,
  data: Buffer,
): Promise<string> {
  return holdingBlobs(store, async (hold) => {
    const blob = await store.put(W, data, hold)
    const file = {
      blob,
      mime: 'text/plain',
      uri: undefined,
      name: undefined,
      description: undefined,
      mention: undefined,
    }
    const prompt: Prompt = { text: '', files: [file], agents: [], metadata: undefined }
    await sessions.admitPrompt(W, admission(id, { sessionId, prompt }))
    return blob.hash
  })
}

async function sweepAll({ store }: BlobFixture): Promise<void> {
  while (await store.sweep());
}

/** What forks of root sessions need beside a store. */
const FORKING = { catalog: {} as never, remover: { wake() {} }, clock: systemClock }
const CALL = { signal: new AbortController().signal } as never

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
        assert.deepEqual(ref, { hash: createHash('sha256').update(data).digest('hex'), size })
        const later = await reopen()
        assert.ok(Buffer.from((await later.get(W, ref.hash)) ?? [1]).equals(data))
      })
    }

    run('refuses more than 20 MiB', async ({ store }) => {
      await assert.rejects(store.put(W, Buffer.alloc(20 * MIB + 1), newHold()), RangeError)
    })

    run('answers undefined for what a workspace does not have', async ({ store }) => {
      const { hash } = await store.put(W, Buffer.from('mine'), newHold())
      assert.equal(await store.get('wrk_other', hash), undefined)
      assert.equal(await store.get(W, createHash('sha256').update('none').digest('hex')), undefined)
      for (const wrong of ['', '..', `../${W}/${hash}`, hash.toUpperCase(), `${hash}0`]) {
        assert.equal(await store.get(W, wrong), undefined)
      }
    })

    run('the same content at once and again is one content', async ({ store }) => {
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
    run('what is held stays, what is used stays after that, and what is neither goes', async (fixture) => {
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

    run('content goes with the last session that uses it, waiting or said', async (fixture) => {
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

    run('a fork keeps what its source had', async (fixture) => {
      const { store, sessions } = fixture
      await sessions.createSession(W, newSession())
      const hash = await promptWith(fixture, 'ses_1', 'msg_1', Buffer.from('content'))
      await sessions.promote(await acquire(sessions, 60_000), 'idle')
      const given = { store: sessions as never, ...FORKING }
      const fork = { workspace: W, sessionId: 'ses_1', id: 'ses_2', before: undefined }
      await forkSession(given, fork, CALL)
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

    run(
      'a prompt on its way, a fork, removals and sweeps at once: no reference is left without content',
      async (fixture) => {
        const { store, sessions } = fixture
        const contents = [Buffer.from('one'), Buffer.from('two')]
        const hashes = new Map<string, string>()
        let working = true
        const sweeping = (async () => {
          while (working) {
            await finishRemovals(sessions)
            await store.sweep()
            await new Promise((resolve) => setImmediate(resolve))
          }
        })()
        const given = { store: sessions as never, ...FORKING }
        const round = async (worker: number, n: number): Promise<void> => {
          const id = `ses_${worker}_${n}`
          await sessions.createSession(W, newSession(id))
          hashes.set(id, await promptWith(fixture, id, `msg_${worker}_${n}`, contents[n % 2] as Buffer))
          if (n === 0) return
          const former = `ses_${worker}_${n - 1}`
          const fork = { workspace: W, sessionId: former, id: `${former}_fork`, before: undefined }
          const forked = forkSession(given, fork, CALL).catch(() => {})
          hashes.delete(former)
          await sessions.removeSession(W, former)
          await forked
        }
        await Promise.all(
          [0, 1, 2].map(async (worker) => {
            for (let n = 0; n < 15; n++) await round(worker, n)
          }),
        )
        working = false
        await sweeping
        await finishRemovals(sessions)
        await sweepAll(fixture)
        assert.equal(hashes.size, 3)
        for (const [id, hash] of hashes) assert.ok(await store.get(W, hash), id)
        for (const [id] of hashes) await sessions.removeSession(W, id)
        await finishRemovals(sessions)
        await sweepAll(fixture)
        for (const hash of hashes.values()) assert.equal(await store.get(W, hash), undefined)
      },
    )
  })
}
