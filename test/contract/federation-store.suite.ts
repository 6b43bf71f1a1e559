import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import {
  type IssuerSettings,
  KeyHealthSchema,
  Organization_Plan as Plan,
  AuditEntry_Resource as Resource,
} from '#gen/portico/identity/v1/federation_pb.js'
import type { ExchangeGround } from '#services/identity/ports/federation-store.ts'
import type { Stores } from '#services/identity/ports/stores.ts'
import { Rejection } from '#shared/rejection.ts'
import {
  byAdmin,
  changesOf,
  issuerSettings,
  type MakePlace,
  makeOrganization,
  newKey,
  policySettings,
  type SuiteOptions,
  suiteOf,
} from './identity-store.support.ts'

async function groundIn({ federation }: Stores, policyId: string): Promise<ExchangeGround> {
  const found = await federation.findPolicy(policyId)
  assert.ok(found !== undefined && 'policy' in found)
  return found
}

/** What FederationStore and IssuerHealth promise, on any adapter. */
export function federationStoreSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`FederationStore on ${name}`, make, options, (rule) => {
    rule('issuers come back as they were saved, to every process', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const sources: readonly IssuerSettings['keySource'][] = [
        { case: undefined },
        { case: 'jwksUrl', value: 'https://keys.example/jwks' },
        { case: 'jwks', value: `{"keys":[],"x":"${'☂'.repeat(80_000)}"}` },
      ]
      for (const [index, keySource] of sources.entries()) {
        const settings = issuerSettings({ keySource, ...(index > 0 && { singleUse: true, maxAgeSeconds: index }) })
        const issuer = await store.federation.createIssuer(organizationId, `iss_${index}`, () => settings, byAdmin())
        const { issuerId, revision, createTime, updateTime } = issuer
        assert.deepEqual([issuerId, revision, createTime, updateTime], [`iss_${index}`, 1, 5_000, 5_000])
        assert.deepEqual([issuer.organizationId, issuer.settings], [organizationId, settings])
        assert.deepEqual(await other.federation.getIssuer(organizationId, issuerId), issuer)
        assert.equal(await other.federation.getIssuer('org_other', issuerId), undefined)
      }
      await assert.rejects(store.federation.createIssuer(organizationId, 'iss_0', () => issuerSettings(), byAdmin()))
      await assert.rejects(store.federation.createIssuer('org_other', 'iss_9', () => issuerSettings(), byAdmin()))
    })

    rule('policies come back as they were saved, to every process', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const all = [
        policySettings(),
        policySettings({ subject: undefined, condition: 'subject != ""', enabled: false }),
        policySettings({ subject: '😀 "\\', checks: { scope: 'a' } }),
        policySettings({ checks: { scope: 'a', tokenType: 'b' } }),
      ]
      for (const [index, settings] of all.entries()) {
        const policy = await store.federation.createPolicy(organizationId, `p${index}`, () => settings, byAdmin())
        const { policyId, revision, createTime, updateTime } = policy
        assert.deepEqual([policyId, revision, createTime, updateTime], [`p${index}`, 1, 5_000, 5_000])
        assert.deepEqual([policy.organizationId, policy.settings], [organizationId, settings])
        assert.deepEqual(await other.federation.getPolicy(organizationId, policyId), policy)
        assert.equal(await other.federation.getPolicy('org_other', policyId), undefined)
      }
    })

    rule(
      'issuers and policies are listed in the order of creation, some at a time, of one organization',
      async ({ store }) => {
        const { organizationId } = await makeOrganization(store)
        const other = await makeOrganization(store)
        for (const id of ['z', 'b', 'y', 'a']) {
          await store.federation.createIssuer(organizationId, `iss_${id}`, () => issuerSettings(), byAdmin())
          const issuerId = id < 'c' ? 'iss_1' : 'iss_2'
          await store.federation.createPolicy(organizationId, id, () => policySettings({ issuerId }), byAdmin())
        }
        await store.federation.createPolicy(other.organizationId, 'c', () => policySettings(), byAdmin())
        const issuers = await store.federation.listIssuers(organizationId, { offset: 1, limit: 2 })
        assert.deepEqual([issuers.items.map(({ issuerId }) => issuerId), issuers.total], [['iss_b', 'iss_y'], 4])
        const policies = await store.federation.listPolicies(organizationId, { offset: 0, limit: 9 })
        assert.deepEqual([policies.items.map(({ policyId }) => policyId), policies.total], [['z', 'b', 'y', 'a'], 4])
        const some = await store.federation.listPolicies(organizationId, { offset: 1, limit: 9 }, 'iss_1')
        assert.deepEqual([some.items.map(({ policyId }) => policyId), some.total], [['a'], 2])
        assert.deepEqual(await store.federation.listIssuers('org_x', { offset: 0, limit: 9 }), { items: [], total: 0 })
      },
    )

    rule('concurrent creations make no more than the decision allows', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const decide = (count: number) => {
        if (count >= 3) throw new Rejection('TOO_MANY_ISSUERS')
        return issuerSettings()
      }
      const made = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) => {
          const { federation } = index % 2 === 0 ? store : other
          return federation.createIssuer(organizationId, `iss_${index}`, decide, byAdmin())
        }),
      )
      assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 3)
      for (const each of made) if (each.status === 'rejected') assert.ok(each.reason instanceof Rejection)
      assert.equal((await store.federation.listIssuers(organizationId, { offset: 0, limit: 9 })).total, 3)
      assert.equal((await changesOf(store, organizationId)).length, 2 + 3)
    })

    rule(
      'concurrent changes follow one another, and each sees the result of the one before',
      async ({ store, other }) => {
        const { organizationId } = await makeOrganization(store)
        await store.federation.createPolicy(organizationId, 'p', () => policySettings({ name: '' }), byAdmin())
        await Promise.all(
          Array.from({ length: 8 }, (_, index) => {
            const { federation } = index % 2 === 0 ? store : other
            return federation.revisePolicy(
              organizationId,
              'p',
              (now) => ({ ...now, name: `${now.name}x` }),
              byAdmin(6_000),
            )
          }),
        )
        const policy = await other.federation.getPolicy(organizationId, 'p')
        assert.deepEqual([policy?.settings.name, policy?.revision], ['xxxxxxxx', 9])
        assert.deepEqual([policy?.createTime, policy?.updateTime], [5_000, 6_000])
        const names = (await changesOf(store, organizationId))
          .slice(3)
          .map(({ before, after }) => [before?.name, after?.name])
        assert.deepEqual(
          names,
          Array.from({ length: 8 }, (_, index) => ['x'.repeat(index), 'x'.repeat(index + 1)]),
        )
      },
    )

    rule('a change that changes nothing, is refused or finds nothing writes nothing', async ({ store }) => {
      const { organizationId } = await makeOrganization(store)
      const issuer = await store.federation.createIssuer(organizationId, 'iss_1', () => issuerSettings(), byAdmin())
      const policy = await store.federation.createPolicy(organizationId, 'p', () => policySettings(), byAdmin())
      const before = await changesOf(store, organizationId)
      const { federation } = store
      assert.deepEqual(await federation.reviseIssuer(organizationId, 'iss_1', (now) => ({ ...now }), byAdmin()), issuer)
      assert.deepEqual(await federation.revisePolicy(organizationId, 'p', (now) => ({ ...now }), byAdmin()), policy)
      const refuse = () => {
        throw new Rejection('CHECK_EXISTS')
      }
      await assert.rejects(federation.reviseIssuer(organizationId, 'iss_1', refuse, byAdmin()), Rejection)
      await assert.rejects(federation.revisePolicy(organizationId, 'p', refuse, byAdmin()), Rejection)
      await assert.rejects(federation.createPolicy(organizationId, 'p2', refuse, byAdmin()), Rejection)
      const other = await makeOrganization(store)
      assert.equal(await federation.reviseIssuer(other.organizationId, 'iss_1', refuse, byAdmin()), undefined)
      assert.equal(await federation.revisePolicy(other.organizationId, 'p', refuse, byAdmin()), undefined)
      assert.equal(await federation.deleteIssuer(other.organizationId, 'iss_1', byAdmin()), false)
      assert.equal(await federation.deletePolicy(other.organizationId, 'p', byAdmin()), false)
      assert.deepEqual(await changesOf(store, organizationId), before)
      assert.deepEqual(await federation.getIssuer(organizationId, 'iss_1'), issuer)
    })

    rule('changes are in the audit log with before and after, an inline key set by its digest', async ({ store }) => {
      const { organizationId } = await makeOrganization(store)
      const { federation } = store
      await federation.createIssuer(organizationId, 'iss_1', () => issuerSettings(), byAdmin())
      const keySource = { case: 'jwks', value: '{"keys":[]}' } as const
      await federation.reviseIssuer(organizationId, 'iss_1', (now) => ({ ...now, keySource }), byAdmin())
      assert.equal(await federation.deleteIssuer(organizationId, 'iss_1', byAdmin()), true)
      const issuer = {
        name: 'an issuer',
        issuer_url: 'https://issuer.example',
        single_use: false,
        max_age_seconds: null,
      }
      const jwks_sha256 = '9638d11914735d0072002dd4d67c734a94ee7a0cd845e6dcbc984ee7581860a7'
      const [created, revised, deleted] = (await changesOf(store, organizationId)).slice(2)
      assert.deepEqual([created?.before, created?.after], [undefined, { ...issuer, discovery: true }])
      assert.deepEqual(revised?.after, { ...issuer, jwks_sha256 })
      assert.deepEqual([revised?.before, deleted?.before, deleted?.after], [created?.after, revised?.after, undefined])
      assert.deepEqual(
        [created?.actorKeyId, created?.resource, created?.resourceId],
        ['key_admin', Resource.ISSUER, 'iss_1'],
      )
    })

    rule('an exchange finds policy, issuer, plan and key, as they are now', async ({ store, other }) => {
      const { organizationId, workspaceId } = await makeOrganization(store)
      const key = await store.identity.createKey(newKey({ workspaceId }), byAdmin())
      const { federation } = store
      const issuer = await federation.createIssuer(organizationId, 'iss_1', () => issuerSettings(), byAdmin())
      const settings = policySettings({ workspaceId, keyId: key.keyId })
      const policy = await federation.createPolicy(organizationId, 'p', () => settings, byAdmin())
      const organization = { plan: Plan.BUSINESS }
      const { kind, disabled, expireTime } = key
      const inUse = { kind, disabled, expireTime }
      assert.deepEqual(await other.federation.findPolicy('p'), { policy, issuer, organization, key: inUse })
      await federation.revisePolicy(organizationId, 'p', (now) => ({ ...now, enabled: false }), byAdmin())
      await store.organizations.setPlan(organizationId, Plan.FREE, byAdmin())
      await store.identity.reviseKey(workspaceId, key.keyId, (each) => ({ ...each, disabled: true }), byAdmin())
      const found = await groundIn(other, 'p')
      assert.deepEqual(
        [found.policy.settings.enabled, found.organization.plan, found.key?.disabled],
        [false, Plan.FREE, true],
      )
      await federation.reviseIssuer(organizationId, 'iss_1', (now) => ({ ...now, name: 'other' }), byAdmin())
      const { issuer: changed } = await groundIn(other, 'p')
      assert.deepEqual([changed?.settings.name, changed?.revision], ['other', 2])
      await federation.deleteIssuer(organizationId, 'iss_1', byAdmin())
      await store.identity.deleteKey(workspaceId, key.keyId, byAdmin())
      const left = await groundIn(other, 'p')
      assert.deepEqual([left.policy.policyId, left.issuer, left.key], ['p', undefined, undefined])
      for (const id of ['', 'P', 'p\0', '$ne', 'x'.repeat(10_000)]) {
        assert.equal(await other.federation.findPolicy(id), undefined)
      }
    })

    rule('whose policy was deleted is known for as long as the audit log keeps that', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const { federation, auditLog } = store
      const { keyId, issuerId } = policySettings()
      for (const id of ['p1', 'p2'])
        await federation.createPolicy(organizationId, id, () => policySettings(), byAdmin())
      await other.federation.findPolicy('p1')
      await federation.deletePolicy(organizationId, 'p1', byAdmin(6_000))
      const deleted = { deleted: true, organizationId, issuerId, keyId }
      for (const { federation } of [store, other]) assert.deepEqual(await federation.findPolicy('p1'), deleted)
      await auditLog.expire(6_000, 100)
      assert.deepEqual(await other.federation.findPolicy('p1'), deleted)
      await auditLog.expire(6_001, 100)
      assert.equal(await other.federation.findPolicy('p1'), undefined)
      assert.equal((await groundIn(other, 'p2')).policy.policyId, 'p2')
    })

    rule('the present ones of several issuers are found, of one organization', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const { federation } = store
      for (const id of ['iss_1', 'iss_2'])
        await federation.createIssuer(organizationId, id, () => issuerSettings(), byAdmin())
      await federation.deleteIssuer(organizationId, 'iss_2', byAdmin())
      const asked = ['iss_1', 'iss_2', 'iss_1', '', 'iss_3']
      assert.deepEqual(await other.federation.presentIssuers(organizationId, asked), new Set(['iss_1']))
      assert.deepEqual(await other.federation.presentIssuers('org_other', asked), new Set())
      assert.deepEqual(await other.federation.presentIssuers(organizationId, []), new Set())
    })

    rule('the issuer and the key of another organization are not found', async ({ store }) => {
      const [one, two] = [await makeOrganization(store), await makeOrganization(store)]
      await store.federation.createIssuer(two.organizationId, 'iss_1', () => issuerSettings(), byAdmin())
      const settings = policySettings({ issuerId: 'iss_1', workspaceId: two.workspaceId, keyId: two.keyId })
      await store.federation.createPolicy(one.organizationId, 'p', () => settings, byAdmin())
      const { policy, issuer, key } = await groundIn(store, 'p')
      assert.deepEqual([policy.organizationId, issuer, key], [one.organizationId, undefined, undefined])
    })

    rule('the health of keys is that of the present revision, and no entry of the log', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      const { federation, issuerHealth } = store
      await federation.createIssuer(organizationId, 'iss_1', () => issuerSettings(), byAdmin())
      const before = await changesOf(store, organizationId)
      const of = { organizationId, issuerId: 'iss_1', revision: 1 }
      const healthOf = async () => (await other.federation.getIssuer(organizationId, 'iss_1'))?.keyHealth
      await issuerHealth.record(of, { time: 10, failure: 'no answer', timeNextTry: 20 })
      const failed = { lastFailureTime: 10, lastFailure: 'no answer' }
      assert.deepEqual(await healthOf(), create(KeyHealthSchema, { ...failed, nextTryTime: 20 }))
      await other.issuerHealth.record(of, { time: 30, failure: undefined, timeNextTry: undefined })
      const succeeded = create(KeyHealthSchema, { ...failed, lastSuccessTime: 30 })
      assert.deepEqual(await healthOf(), succeeded)
      const { items } = await store.federation.listIssuers(organizationId, { offset: 0, limit: 9 })
      assert.deepEqual(items[0]?.keyHealth, succeeded)
      for (const wrong of [
        { ...of, revision: 2 },
        { ...of, organizationId: 'org_other' },
        { ...of, issuerId: 'iss_2' },
      ]) {
        await issuerHealth.record(wrong, { time: 40, failure: 'wrong', timeNextTry: undefined })
      }
      assert.deepEqual(await healthOf(), succeeded)
      assert.deepEqual(await changesOf(store, organizationId), before)
      await federation.reviseIssuer(organizationId, 'iss_1', (now) => ({ ...now, name: 'new' }), byAdmin())
      assert.equal(await healthOf(), undefined)
      await issuerHealth.record({ ...of, revision: 2 }, { time: 50, failure: undefined, timeNextTry: undefined })
      assert.deepEqual(await healthOf(), create(KeyHealthSchema, { lastSuccessTime: 50 }))
      assert.equal(await federation.deleteIssuer(organizationId, 'iss_1', byAdmin()), true)
    })
  })
}
