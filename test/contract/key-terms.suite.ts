import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { AuditEntry_Resource as Resource } from '#gen/portico/identity/v1/federation_pb.js'
import {
  KeyTerms_ResponsesDialect as Dialect,
  KeyTermsSchema,
  Principal_Kind as Kind,
  KeyTerms_Reset as Reset,
} from '#gen/portico/identity/v1/identity_pb.js'
import { NO_TERMS } from '#services/identity/domain/api-key.ts'
import type { KeyQuery } from '#services/identity/ports/identity-store.ts'
import {
  byAdmin,
  byOperator,
  changesOf,
  type MakePlace,
  makeOrganization,
  newKey,
  type SuiteOptions,
  suiteOf,
} from './identity-store.support.ts'

const ALL = create(KeyTermsSchema, {
  limitNanos: 9_223_372_036_854_775_807n,
  limitReset: Reset.WEEKLY,
  requestsPerMinute: 1,
  tokensPerMinute: 1_000_000_000_000n,
  concurrentRequests: 2_147_483_647,
  allowedModels: ['openai/*', 'näme "☂"'],
  limitIncludesOwnKeys: true,
  responsesDialect: Dialect.SPECIFICATION,
  historyIds: false,
})

const query = (more: Partial<KeyQuery>): KeyQuery => {
  return { after: 0, offset: 0, limit: 10, kinds: [], enabledOnly: false, ...more }
}

/** What IdentityStore promises about the terms of keys and the limits of workspaces, on any adapter. */
export function keyTermsSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`Terms of keys on ${name}`, make, options, (rule) => {
    rule('terms are kept as they are given, and come with each read of the key', async ({ store, other }) => {
      const { workspaceId } = await makeOrganization(store)
      for (const terms of [
        ALL,
        NO_TERMS,
        { ...NO_TERMS, limitNanos: 0n },
        { ...NO_TERMS, limitReset: Reset.MONTHLY },
        { ...NO_TERMS, allowedModels: ['a'] },
      ]) {
        const key = newKey({ terms })
        const made = await store.identity.createKey({ ...key, workspaceId }, byAdmin())
        assert.deepEqual(made.terms, terms)
        assert.deepEqual(await other.identity.getKey(workspaceId, key.keyId), await other.identity.findKey(key.hash))
        assert.deepEqual((await other.identity.findKey(key.hash))?.key, made)
      }
    })

    rule(
      'a revision changes name, terms, expiry and the time of change; one without a change does not',
      async (opened) => {
        const { store, other } = opened
        const { organizationId, workspaceId } = await makeOrganization(store)
        const key = newKey()
        const made = await store.identity.createKey({ ...key, workspaceId }, byAdmin(6_000))
        const change = { name: 'other', terms: ALL, expireTime: 9_000 }
        const revise = (time: number) =>
          store.identity.reviseKey(workspaceId, key.keyId, (each) => ({ ...each, ...change }), byAdmin(time))
        const expected = { ...made, ...change, updateTime: 7_000 }
        assert.deepEqual(await revise(7_000), expected)
        assert.deepEqual(await revise(8_000), expected)
        assert.deepEqual((await other.identity.findKey(key.hash))?.key, expected)
        const [entry, ...more] = (await changesOf(other, organizationId)).filter(({ before }) => before !== undefined)
        assert.deepEqual(
          [more.length, entry?.before?.limit_nanos, entry?.after],
          [
            0,
            undefined,
            {
              workspace_id: workspaceId,
              kind: 'workspace',
              name: 'other',
              disabled: false,
              expire_time: '1970-01-01T00:00:09.000Z',

              limit_nanos: '9223372036854775807',
              limit_reset: 'weekly',
              requests_per_minute: 1,

              tokens_per_minute: 1_000_000_000_000,
              concurrent_requests: 2_147_483_647,

              allowed_models: ['openai/*', 'näme "☂"'],
              limit_includes_own_keys: true,
              responses_dialect: 'specification',
              history_ids: false,
            },
          ],
        )
      },
    )

    rule('no revision is lost when several are made at once', async ({ store, other }) => {
      const { workspaceId } = await makeOrganization(store)
      const key = newKey({ terms: { ...NO_TERMS, requestsPerMinute: 1 } })
      await store.identity.createKey({ ...key, workspaceId }, byAdmin())
      const raise = ({ identity }: typeof store) =>
        identity.reviseKey(
          workspaceId,
          key.keyId,
          ({ terms = NO_TERMS, ...each }) => ({
            ...each,
            terms: { ...terms, requestsPerMinute: (terms.requestsPerMinute ?? 0) + 1 },
          }),
          byAdmin(),
        )
      await Promise.all([store, other, store, other, store].map(raise))
      assert.equal((await other.identity.findKey(key.hash))?.key.terms?.requestsPerMinute, 6)
    })

    rule('keys are listed by kind, enabled only if requested, from an offset', async ({ store }) => {
      const { workspaceId } = await makeOrganization(store)
      const keys = [Kind.WORKSPACE, Kind.PERSONAL, Kind.WORKSPACE, Kind.WORKSPACE].map((kind) => newKey({ kind }))
      for (const key of keys) await store.identity.createKey({ ...key, workspaceId }, byAdmin())
      const [one = '', two = '', three = '', four = ''] = keys.map(({ keyId }) => keyId)
      await store.identity.reviseKey(workspaceId, three, (key) => ({ ...key, disabled: true }), byAdmin())
      const idsOf = async (more: Partial<KeyQuery>) => {
        const { items, more: left } = await store.identity.listKeys(workspaceId, query(more))
        return [items.map(({ key }) => key.keyId), left]
      }
      assert.deepEqual(await idsOf({ kinds: [Kind.WORKSPACE, Kind.PERSONAL] }), [[one, two, three, four], false])
      assert.deepEqual(await idsOf({ kinds: [Kind.WORKSPACE] }), [[one, three, four], false])
      assert.deepEqual(await idsOf({ kinds: [Kind.WORKSPACE], enabledOnly: true }), [[one, four], false])
      assert.deepEqual(await idsOf({ kinds: [Kind.WORKSPACE], offset: 1, limit: 1 }), [[three], true])
      assert.deepEqual(await idsOf({ after: 3, offset: 1 }), [[four], false])
    })

    rule("a workspace's limit comes with each of its keys, later ones too, and with no other's", async (opened) => {
      const { store, other } = opened
      const { organizationId, workspaceId } = await makeOrganization(store)
      const foreign = await makeOrganization(store)
      const [earlier, later] = [newKey(), newKey()]
      await store.identity.createKey({ ...earlier, workspaceId }, byAdmin())
      const set = (nanos: bigint | undefined) => store.identity.setWorkspaceLimit(workspaceId, nanos, byOperator)
      for (const nanos of [9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n, 0n])
        assert.equal(await set(nanos), true)
      await other.identity.createKey({ ...later, workspaceId }, byAdmin())
      const limitOf = async (hash: string) => (await other.identity.findKey(hash))?.workspaceLimitNanos
      assert.deepEqual([await limitOf(earlier.hash), await limitOf(later.hash)], [0n, 0n])
      const elsewhere = await other.identity.getKey(foreign.workspaceId, foreign.keyId)
      assert.equal(elsewhere?.workspaceLimitNanos, undefined)
      await set(undefined)
      assert.equal(await limitOf(earlier.hash), undefined)
      assert.equal(await store.identity.setWorkspaceLimit('wrk_missing', 1n, byOperator), false)
      const changes = await changesOf(store, organizationId)
      const ofWorkspace = changes.filter(({ resource }) => resource === Resource.WORKSPACE)
      assert.deepEqual(
        ofWorkspace.map(({ resourceId, before, after }) => [resourceId, before?.limit_nanos, after?.limit_nanos]),
        [
          [workspaceId, null, '9223372036854775807'],
          [workspaceId, '9223372036854775807', '0'],
          [workspaceId, '0', null],
        ],
      )
    })

    rule('a key that is created while its workspace gets a limit has it', async ({ store, other }) => {
      const { workspaceId } = await makeOrganization(store)
      const keys = Array.from({ length: 4 }, () => newKey())
      await Promise.all([
        ...keys.map((key) => other.identity.createKey({ ...key, workspaceId }, byAdmin())),
        store.identity.setWorkspaceLimit(workspaceId, 7n, byOperator),
      ])
      const found = await Promise.all(keys.map(({ hash }) => store.identity.findKey(hash)))
      assert.deepEqual(
        found.map((key) => key?.workspaceLimitNanos),
        [7n, 7n, 7n, 7n],
      )
    })
  })
}
