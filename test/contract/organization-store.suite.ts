import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import {
  OrganizationSchema,
  Organization_Plan as Plan,
  AuditEntry_Resource as Resource,
} from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind as Kind } from '#gen/portico/identity/v1/identity_pb.js'
import {
  byAdmin,
  changesOf,
  type MakePlace,
  makeOrganization,
  newKey,
  type SuiteOptions,
  suiteOf,
} from './identity-store.support.ts'

/** What OrganizationStore promises, on any adapter. */
export function organizationStoreSuite(name: string, make: MakePlace, options: SuiteOptions): void {
  suiteOf(`OrganizationStore on ${name}`, make, options, (rule) => {
    rule('an organization begins with a workspace and a key', async ({ store, other }) => {
      const key = newKey({ kind: Kind.MANAGEMENT })
      const { organizationId, workspaceId } = await makeOrganization(store, { key, plan: Plan.FREE, name: 'näme ☂' })
      const expected = create(OrganizationSchema, { organizationId, name: 'näme ☂', plan: Plan.FREE, createTime: 1000 })
      assert.deepEqual(await other.organizations.getOrganization(organizationId), expected)
      assert.equal(await other.organizations.getOrganization('org_other'), undefined)
      const found = await other.identity.findKey(key.hash)
      assert.deepEqual([found?.organizationId, found?.key.workspaceId], [organizationId, workspaceId])
    })

    rule('nothing is written of an organization whose key is in use', async ({ store }) => {
      const key = newKey()
      await makeOrganization(store, { key })
      await assert.rejects(makeOrganization(store, { key: { ...newKey(), hash: key.hash } }))
      assert.equal((await store.organizations.listOrganizations(0, 10)).total, 1)
    })

    rule('organizations are listed by age, some at a time', async ({ store }) => {
      const made: Record<string, readonly string[]> = {}
      for (let i = 0; i < 4; i++) {
        const { organizationId, workspaceId } = await makeOrganization(store)
        made[organizationId] = [workspaceId]
      }
      const { items, total } = await store.organizations.listOrganizations(0, 10)
      assert.deepEqual(
        [Object.fromEntries(items.map(({ organizationId, workspaceIds }) => [organizationId, workspaceIds])), total],
        [made, 4],
      )
      assert.deepEqual(await store.organizations.listOrganizations(1, 2), { items: items.slice(1, 3), total: 4 })
      assert.deepEqual(await store.organizations.listOrganizations(4, 2), { items: [], total: 4 })
    })

    rule('a change of the plan is seen at once, and in the audit log once', async ({ store, other }) => {
      const { organizationId } = await makeOrganization(store)
      for (const plan of [Plan.FREE, Plan.FREE, Plan.ENTERPRISE]) {
        assert.equal((await store.organizations.setPlan(organizationId, plan, byAdmin()))?.plan, plan)
        assert.equal((await other.organizations.getOrganization(organizationId))?.plan, plan)
      }
      assert.equal(await store.organizations.setPlan('org_other', Plan.FREE, byAdmin()), undefined)
      const changes = await changesOf(other, organizationId)
      assert.deepEqual(
        changes
          .filter(({ resource }) => resource === Resource.ORGANIZATION)
          .map(({ before, after }) => [before?.plan, after?.plan]),
        [
          [undefined, 'business'],
          ['business', 'free'],
          ['free', 'enterprise'],
        ],
      )
    })
  })
}
