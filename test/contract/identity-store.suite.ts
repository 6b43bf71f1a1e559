import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { Bootstrap, IdentityStore, NewApiKey } from '#services/identity/ports/identity-store.ts'
import { randomId } from '#shared/ids.ts'

/** One database that several stores can have open at once, as several processes would. */
export interface IdentityDatabase extends AsyncDisposable {
  open(): Promise<IdentityStore>
}

let hashes = 0

function newKey(more: Partial<NewApiKey> = {}): NewApiKey {
  hashes += 1
  const hash = hashes.toString(16).padStart(64, '0')
  const base = { kind: 'workspace', name: 'a key', prefix: 'sk-portico-abcd', timeCreated: 1000 } as const
  return { id: randomId('key'), hash, ...base, timeExpires: undefined, ...more }
}

function newBootstrap(...keys: Bootstrap['keys']): Bootstrap {
  const organization = { id: randomId('org'), name: 'an organization' }
  return { organization, workspace: { id: randomId('wrk'), name: 'a workspace' }, timeCreated: 1000, keys }
}

const stored = ({ hash: _, ...key }: NewApiKey, workspaceId: string) => ({ ...key, workspaceId, disabled: false })

/** What IdentityStore promises, on any adapter. `create` makes an empty database. */
export function identityStoreSuite(name: string, create: () => Promise<IdentityDatabase>, options = {}): void {
  describe(`IdentityStore on ${name}`, options, () => {
    let database: IdentityDatabase
    let store: IdentityStore
    let other: IdentityStore
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
    const workspaceOf = async (): Promise<string> => (await store.bootstrap(newBootstrap())).workspaceId

    test('the first bootstrap makes organization, workspace and all keys', async () => {
      const [given, made] = [newKey(), newKey({ kind: 'management', timeExpires: 5000 })]
      const bootstrap = newBootstrap({ ...given, given: true }, { ...made, given: false })
      const { organization, workspace } = bootstrap
      const keys = [stored(given, workspace.id), stored(made, workspace.id)]
      const expected = { organizationId: organization.id, workspaceId: workspace.id, first: true, keys }
      assert.deepEqual(await store.bootstrap(bootstrap), expected)
      assert.deepEqual(await other.findKey(made.hash), { organizationId: organization.id, key: keys[1] })
    })

    test('a later bootstrap answers what is there and writes given keys only', async () => {
      const first = await store.bootstrap(newBootstrap())
      const [given, made] = [newKey(), newKey()]
      const second = await other.bootstrap(newBootstrap({ ...given, given: true }, { ...made, given: false }))
      assert.deepEqual(second, { ...first, first: false, keys: [stored(given, first.workspaceId), undefined] })
      assert.equal(await store.findKey(made.hash), undefined)
    })

    test('a bootstrap leaves a given key that is there as it is', async () => {
      const given = newKey()
      const { workspaceId } = await store.bootstrap(newBootstrap({ ...given, given: true }))
      await store.setKeyDisabled(workspaceId, given.id, true)
      const again = await store.bootstrap(newBootstrap({ ...given, id: randomId('key'), name: 'new', given: true }))
      assert.deepEqual(again.keys, [{ ...stored(given, workspaceId), disabled: true }])
    })

    test('of bootstraps at once exactly one makes the workspace, and each given key is there once', async () => {
      const given = newKey()
      const starts = Array.from({ length: 8 }, (_, index) => {
        const keys = [
          { ...given, id: randomId('key'), given: true },
          { ...newKey(), given: false },
        ]
        return (index % 2 === 0 ? store : other).bootstrap(newBootstrap(...keys))
      })
      const answers = await Promise.all(starts)
      assert.equal(answers.filter((answer) => answer.first).length, 1)
      assert.equal(new Set(answers.map((answer) => answer.organizationId)).size, 1)
      assert.equal(new Set(answers.map((answer) => answer.workspaceId)).size, 1)
      assert.equal(new Set(answers.map((answer) => answer.keys[0]?.id)).size, 1)
      assert.equal(answers.filter((answer) => answer.keys[1] !== undefined).length, 1)
      const { items } = await store.listKeys(answers[0]?.workspaceId ?? '', 0, 100)
      assert.equal(items.length, 2)
    })

    test('a key is found by hash and by id, and only in its own workspace', async () => {
      const workspace = await workspaceOf()
      const key = newKey({ kind: 'personal', name: 'näme ☂', timeExpires: 2 ** 45 })
      assert.deepEqual(await store.createKey(workspace, key), stored(key, workspace))
      assert.deepEqual((await other.findKey(key.hash))?.key, stored(key, workspace))
      assert.deepEqual(await other.getKey(workspace, key.id), await other.findKey(key.hash))
      assert.equal(await store.getKey('wrk_other', key.id), undefined)
      assert.equal(await store.setKeyDisabled('wrk_other', key.id, true), undefined)
      assert.equal((await store.findKey(key.hash))?.key.disabled, false, 'nor can it be changed from another')
      assert.deepEqual(await store.listKeys('wrk_other', 0, 10), { items: [], more: false })
      assert.equal(await store.findKey('f'.repeat(64)), undefined)
    })

    test('a change of one store is seen by another at once', async () => {
      const workspace = await workspaceOf()
      const key = newKey()
      await store.createKey(workspace, key)
      for (const disabled of [true, true, false]) {
        assert.deepEqual(await store.setKeyDisabled(workspace, key.id, disabled), {
          ...stored(key, workspace),
          disabled,
        })
        assert.equal((await other.findKey(key.hash))?.key.disabled, disabled)
        assert.equal((await other.getKey(workspace, key.id))?.key.disabled, disabled)
      }
    })

    test('keys made at once are numbered without gaps and listed in that order', async () => {
      const workspace = await workspaceOf()
      const keys = Array.from({ length: 7 }, () => newKey())
      await Promise.all(keys.map((key, index) => (index % 2 === 0 ? store : other).createKey(workspace, key)))
      const all = await store.listKeys(workspace, 0, 7)
      assert.deepEqual([all.items.map((item) => item.seq), all.more], [[1, 2, 3, 4, 5, 6, 7], false])
      assert.deepEqual(new Set(all.items.map((item) => item.key.id)), new Set(keys.map((key) => key.id)))
      const page = await store.listKeys(workspace, 2, 3)
      assert.deepEqual(page, { items: all.items.slice(2, 5), more: true })
      assert.deepEqual(await store.listKeys(workspace, 7, 3), { items: [], more: false })
    })

    test('a key is not written when its workspace is missing, or its id or hash is in use', async () => {
      const workspace = await workspaceOf()
      const key = newKey()
      await assert.rejects(store.createKey('wrk_missing', key))
      assert.equal(await store.findKey(key.hash), undefined)
      await store.createKey(workspace, key)
      await assert.rejects(store.createKey(workspace, newKey({ id: key.id })))
      await assert.rejects(store.createKey(workspace, newKey({ hash: key.hash })))
      await store.createKey(workspace, newKey())
      assert.deepEqual(
        (await store.listKeys(workspace, 0, 10)).items.map((item) => item.seq),
        [1, 2],
      )
    })
  })
}
