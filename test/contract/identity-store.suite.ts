import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { AuditEntry_ChangeSchema, AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import { type ApiKey, Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import type { Stores } from '#services/identity/ports/stores.ts'
import { randomId } from '#shared/ids.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import {
  byAdmin,
  changesOf,
  type MakePlace,
  newBootstrap,
  newKey,
  type SuiteOptions,
  suiteOf,
} from './identity-store.support.ts'

const keyIn = (workspaceId: string, more: Partial<ApiKey> = {}) => newKey({ workspaceId, ...more })

const toggle = (disabled: boolean) => (key: ApiKey) => ({ ...key, disabled })
const disable = toggle(true)
/** All keys after a position in their order, at most `limit` a page. */
const pageOf = (after: number, limit: number) => ({ after, offset: 0, limit, kinds: [], enabledOnly: false })

const workspaceOf = async ({ identity }: Stores): Promise<string> =>
  (await identity.bootstrap(newBootstrap())).workspaceId

/** What IdentityStore promises, on any adapter. */
export function identityStoreSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`IdentityStore on ${name}`, make, options, (rule) => {
    rule('the first bootstrap makes organization, workspace and all keys', async ({ store, other }) => {
      const [given, made] = [newKey(), newKey({ kind: Kind.MANAGEMENT, expireTime: 5000 })]
      const bootstrap = newBootstrap({ key: given, isGiven: true }, { key: made, isGiven: false })
      const { organization, workspace } = bootstrap
      const keys = [
        { ...given, workspaceId: workspace.id },
        { ...made, workspaceId: workspace.id },
      ]
      const expected = { organizationId: organization.organizationId, workspaceId: workspace.id, first: true, keys }
      assert.deepEqual(await store.identity.bootstrap(bootstrap), expected)
      assert.deepEqual(await other.identity.findKey(made.hash), {
        organizationId: organization.organizationId,
        workspaceLimitNanos: undefined,
        key: keys[1],
      })
    })

    rule(
      'a later bootstrap returns the existing organization and workspace, and writes given keys only',
      async ({ store, other }) => {
        const first = await store.identity.bootstrap(newBootstrap())
        const [given, made] = [newKey(), newKey()]
        const second = await other.identity.bootstrap(
          newBootstrap({ key: given, isGiven: true }, { key: made, isGiven: false }),
        )
        assert.deepEqual(second, {
          ...first,
          first: false,
          keys: [{ ...given, workspaceId: first.workspaceId }, undefined],
        })
        assert.equal(await store.identity.findKey(made.hash), undefined)
      },
    )

    rule('a bootstrap leaves a given key unchanged that exists already', async ({ store }) => {
      const given = newKey()
      const { workspaceId } = await store.identity.bootstrap(newBootstrap({ key: given, isGiven: true }))
      await store.identity.reviseKey(workspaceId, given.keyId, disable, byAdmin())
      const again = await store.identity.bootstrap(
        newBootstrap({ key: { ...given, keyId: randomId('key'), name: 'new' }, isGiven: true }),
      )
      assert.deepEqual(again.keys, [{ ...given, workspaceId, disabled: true, updateTime: 5_000 }])
    })

    rule('a bootstrap never writes a given key again that was deleted', async ({ store, other }) => {
      const [given, later] = [newKey(), newKey()]
      const { workspaceId } = await store.identity.bootstrap(newBootstrap({ key: given, isGiven: true }))
      assert.equal(await store.identity.deleteKey(workspaceId, given.keyId, byAdmin()), true)
      for (const { identity } of [other, store]) {
        const keys = [given, later].map((key) => ({ key: key, isGiven: true }))
        const again = await identity.bootstrap(newBootstrap(...keys))
        assert.deepEqual(again.keys, [undefined, { ...later, workspaceId }])
        assert.equal(await store.identity.findKey(given.hash), undefined)
      }
    })

    rule(
      'one of several bootstraps at once makes the workspace, and each given key is there once',
      async ({ store, other }) => {
        const given = newKey()
        const starts = Array.from({ length: 8 }, (_, index) => {
          const keys = [
            { key: { ...given, keyId: randomId('key') }, isGiven: true },
            { key: newKey(), isGiven: false },
          ]
          return (index % 2 === 0 ? store : other).identity.bootstrap(newBootstrap(...keys))
        })
        const answers = await Promise.all(starts)
        assert.equal(answers.filter((answer) => answer.first).length, 1)
        assert.equal(new Set(answers.map((answer) => answer.organizationId)).size, 1)
        assert.equal(new Set(answers.map((answer) => answer.workspaceId)).size, 1)
        assert.equal(new Set(answers.map((answer) => answer.keys[0]?.keyId)).size, 1)
        assert.equal(answers.filter((answer) => answer.keys[1] !== undefined).length, 1)
        const { items } = await store.identity.listKeys(answers[0]?.workspaceId ?? '', pageOf(0, 100))
        assert.equal(items.length, 2)
      },
    )

    rule('a key is found by hash and by id, and only in its own workspace', async ({ store, other }) => {
      const workspace = await workspaceOf(store)
      const key = keyIn(workspace, { kind: Kind.PERSONAL, name: 'näme ☂', expireTime: 2 ** 45 })
      assert.deepEqual(await store.identity.createKey({ ...key, workspaceId: workspace }, byAdmin()), {
        ...key,
        workspaceId: workspace,
      })
      assert.deepEqual((await other.identity.findKey(key.hash))?.key, { ...key, workspaceId: workspace })
      assert.deepEqual(await other.identity.getKey(workspace, key.keyId), await other.identity.findKey(key.hash))
      assert.equal(await store.identity.getKey('wrk_other', key.keyId), undefined)
      assert.equal(await store.identity.reviseKey('wrk_other', key.keyId, disable, byAdmin()), undefined)
      assert.equal((await store.identity.findKey(key.hash))?.key.disabled, false, 'nor can it be changed from another')
      assert.deepEqual(await store.identity.listKeys('wrk_other', pageOf(0, 10)), { items: [], more: false })
      assert.equal(await store.identity.findKey('f'.repeat(64)), undefined)
    })

    rule('a change of one store is seen by another at once', async ({ store, other }) => {
      const workspace = await workspaceOf(store)
      const key = newKey()
      await store.identity.createKey({ ...key, workspaceId: workspace }, byAdmin())
      let updateTime = key.createTime
      for (const [index, disabled] of [true, true, false].entries()) {
        const by = byAdmin(6_000 + index)
        if (index !== 1) updateTime = by.time
        assert.deepEqual(await store.identity.reviseKey(workspace, key.keyId, toggle(disabled), by), {
          ...key,
          workspaceId: workspace,
          disabled,
          updateTime,
        })
        assert.equal((await other.identity.findKey(key.hash))?.key.disabled, disabled)
        assert.equal((await other.identity.getKey(workspace, key.keyId))?.key.disabled, disabled)
      }
    })

    rule('keys made at once are numbered without gaps and listed in that order', async ({ store, other }) => {
      const workspace = await workspaceOf(store)
      const keys = Array.from({ length: 7 }, () => newKey())
      await Promise.all(
        keys.map((key, index) =>
          (index % 2 === 0 ? store : other).identity.createKey({ ...key, workspaceId: workspace }, byAdmin()),
        ),
      )
      const all = await store.identity.listKeys(workspace, pageOf(0, 7))
      assert.deepEqual([all.items.map((item) => item.seq), all.more], [[1, 2, 3, 4, 5, 6, 7], false])
      assert.deepEqual(new Set(all.items.map((item) => item.key.keyId)), new Set(keys.map((key) => key.keyId)))
      const page = await store.identity.listKeys(workspace, pageOf(2, 3))
      assert.deepEqual(page, { items: all.items.slice(2, 5), more: true })
      assert.deepEqual(await store.identity.listKeys(workspace, pageOf(7, 3)), { items: [], more: false })
    })

    rule('a key is not written when its workspace is missing, or its id or hash is in use', async ({ store }) => {
      const workspace = await workspaceOf(store)
      const key = newKey()
      await assert.rejects(
        store.identity.createKey({ ...key, workspaceId: 'wrk_missing' }, byAdmin()),
        reasonOfRejection('WORKSPACE_NOT_FOUND', { workspace_id: 'wrk_missing' }),
      )
      assert.equal(await store.identity.findKey(key.hash), undefined)
      await store.identity.createKey({ ...key, workspaceId: workspace }, byAdmin())
      await assert.rejects(store.identity.createKey(keyIn(workspace, { keyId: key.keyId }), byAdmin()))
      await assert.rejects(store.identity.createKey(keyIn(workspace, { hash: key.hash }), byAdmin()))
      await store.identity.createKey(keyIn(workspace), byAdmin())
      assert.deepEqual(
        (await store.identity.listKeys(workspace, pageOf(0, 10))).items.map((item) => item.seq),
        [1, 2],
      )
    })

    rule('a key is found by its organization, whatever its workspace', async ({ store, other }) => {
      const { organizationId, workspaceId } = await store.identity.bootstrap(newBootstrap())
      const key = await store.identity.createKey(keyIn(workspaceId), byAdmin())
      assert.deepEqual(await other.identity.findOrganizationKey(organizationId, key.keyId), key)
      assert.equal(await store.identity.findOrganizationKey('org_other', key.keyId), undefined)
      assert.equal(await store.identity.findOrganizationKey(organizationId, 'key_other'), undefined)
    })

    rule('a deleted key is gone for every process, and only from its own workspace', async ({ store, other }) => {
      const workspace = await workspaceOf(store)
      const key = newKey()
      await store.identity.createKey({ ...key, workspaceId: workspace }, byAdmin())
      assert.equal(await store.identity.deleteKey('wrk_other', key.keyId, byAdmin()), false)
      assert.equal(await store.identity.deleteKey(workspace, key.keyId, byAdmin()), true)
      assert.equal(await other.identity.findKey(key.hash), undefined)
      assert.equal(await other.identity.getKey(workspace, key.keyId), undefined)
      assert.equal(await other.identity.reviseKey(workspace, key.keyId, disable, byAdmin()), undefined)
      assert.equal(await other.identity.deleteKey(workspace, key.keyId, byAdmin()), false)
      const later = await store.identity.createKey(keyIn(workspace), byAdmin())
      const { items } = await store.identity.listKeys(workspace, pageOf(0, 10))
      assert.deepEqual(items, [{ seq: 2, key: later }], 'its number is not given again')
    })

    rule('each change of a key is in the audit log, one that changes nothing is not', async ({ store, other }) => {
      const [given, made] = [newKey({ name: 'given' }), newKey()]
      const bootstrap = newBootstrap({ key: given, isGiven: true })
      const { organizationId, workspaceId } = await store.identity.bootstrap(bootstrap)
      await store.identity.createKey({ ...made, workspaceId, expireTime: 60_000 }, byAdmin())
      for (const disabled of [true, true])
        await store.identity.reviseKey(workspaceId, made.keyId, toggle(disabled), byAdmin())
      await Promise.all([store, other].map(({ identity }) => identity.deleteKey(workspaceId, made.keyId, byAdmin())))
      await assert.rejects(store.identity.createKey(keyIn(workspaceId, { hash: given.hash }), byAdmin()))
      const snapshot = (name: string, expires: string | null = null, disabled = false) => {
        return { workspace_id: workspaceId, kind: 'workspace', name, disabled, expire_time: expires }
      }
      const [enabled, disabled] = [false, true].map((off) => snapshot('a key', '1970-01-01T00:01:00.000Z', off))
      const resource = Resource.API_KEY
      const [ofGiven, ofMade] = [given, made].map(({ keyId: resourceId }) => ({ resource, resourceId }))
      const byKey = { ...ofMade, actorKeyId: 'key_admin' }
      const created = { name: 'an organization', plan: 'enterprise' }
      assert.deepEqual(
        await changesOf(other, organizationId),
        [
          { resource: Resource.ORGANIZATION, resourceId: organizationId, after: created },
          { ...ofGiven, after: snapshot('given') },
          { ...byKey, after: enabled },
          { ...byKey, before: enabled, after: disabled },
          { ...byKey, before: disabled },
        ].map((change) => create(AuditEntry_ChangeSchema, change)),
      )
      assert.equal(JSON.stringify(await changesOf(store, organizationId)).includes(given.hash), false)
    })
  })
}
