import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { SigningKey } from '#services/identity/domain/signing-key.ts'
import type { SigningKeys } from '#services/identity/ports/signing-keys.ts'

/** One database that several stores can have open at once, as several processes would. */
export interface SigningKeyDatabase extends AsyncDisposable {
  open(): Promise<SigningKeys & AsyncDisposable>
}

const newKey = (kid: string): SigningKey => ({
  kid,
  x: `x of ${kid}`,
  y: `y of ${kid}`,
  sealed: Uint8Array.from([0, 1, 255, 0]),

  timeCreated: 1_000,
  timeUsed: 2 ** 45,
})

const kidsOf = (keys: readonly SigningKey[]) => keys.map(({ kid }) => kid)

/** What SigningKeys promises, on any adapter. `create` makes an empty database. */
export function signingKeysSuite(name: string, create: () => Promise<SigningKeyDatabase>, options = {}): void {
  describe(`SigningKeys on ${name}`, options, () => {
    let database: SigningKeyDatabase
    let store: SigningKeys & AsyncDisposable
    let other: SigningKeys & AsyncDisposable
    beforeEach(async () => {
      database = await create()
      store = await database.open()
      other = await database.open()
    })
    afterEach(async () => {
      await store[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    })

    test('a new store has no keys', async () => {
      assert.deepEqual(await store.list(), [])
      assert.deepEqual(await store.revise(() => undefined), [])
    })

    test('keys are read as they were written, in order, through every open store', async () => {
      const keys = [newKey('sig_b'), newKey('sig_a')]
      assert.deepEqual(await store.revise(() => keys), keys)
      const read = await other.list()
      assert.deepEqual(
        read.map((key) => ({ ...key, sealed: Uint8Array.from(key.sealed) })),
        keys,
      )
    })

    test('a decision sees all keys, and replaces all of them or writes nothing', async () => {
      const changed = { ...newKey('sig_a'), sealed: Uint8Array.from([9]) }
      await store.revise(() => [newKey('sig_a'), newKey('sig_b')])
      assert.deepEqual(kidsOf(await other.revise(() => undefined)), ['sig_a', 'sig_b'])
      await other.revise((keys) => [...keys.filter(({ kid }) => kid !== 'sig_a'), changed])
      const read = await store.list()
      assert.deepEqual([kidsOf(read), [...(read[1]?.sealed ?? [])]], [['sig_b', 'sig_a'], [9]])
    })

    test('a decision that throws writes nothing, and the call throws that', async () => {
      const refused = store.revise(() => {
        throw new Error('no')
      })
      await assert.rejects(refused, /^Error: no$/)
      assert.deepEqual(await other.list(), [])
    })

    test('exactly one of several concurrent creators of the first key succeeds, and all get its key', async () => {
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, index) => {
          const make = (keys: readonly SigningKey[]) => (keys.length > 0 ? undefined : [newKey(`sig_${index}`)])
          return (index % 2 === 0 ? store : other).revise(make)
        }),
      )
      assert.equal(new Set(all.map((keys) => kidsOf(keys).join())).size, 1)
      assert.equal(all[0]?.length, 1)
    })

    test('concurrent changes are all kept', async () => {
      const add = (index: number) =>
        (index % 2 === 0 ? store : other).revise((keys) => [...keys, newKey(`sig_${index}`)])
      await Promise.all(Array.from({ length: 8 }, (_, index) => add(index)))
      assert.deepEqual(
        kidsOf(await store.list()).toSorted(),
        Array.from({ length: 8 }, (_, index) => `sig_${index}`),
      )
    })
  })
}
