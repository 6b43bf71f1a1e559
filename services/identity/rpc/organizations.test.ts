import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`a new organization has a workspace, a plan and a management key that works (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, client, as } = identity
    const made = await federation.createOrganization({ name: 'näme ☂', plan: Plan.FREE }, as('local-operator'))
    const { organization, workspaceId, managementKey } = made
    assert.deepEqual([organization?.name, organization?.plan], ['näme ☂', Plan.FREE])
    assert.match(organization?.organizationId ?? '', /^org_[0-9A-Za-z]{24}$/)
    const { principal } = await client.authenticate({ credential: { case: 'apiKey', value: managementKey } })
    assert.deepEqual(
      [principal?.organizationId, principal?.workspaceId, principal?.kind],
      [organization?.organizationId, workspaceId, Principal_Kind.MANAGEMENT],
    )
    const listed = await federation.listOrganizations({}, as('local-operator'))
    assert.equal(listed.totalSize, 2)
    const first = listed.organizations.find(({ organizationId }) => organizationId === identity.organizationId)
    assert.equal(first?.plan, Plan.ENTERPRISE, 'the first one')
    const { organizations } = await federation.listOrganizations({ offset: 1, pageSize: 5 }, as('local-operator'))
    assert.deepEqual(organizations, listed.organizations.slice(1))
  })

  test(`the plan of an organization is changed, and a missing organization has none (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as } = identity
    const request = { organizationId, plan: Plan.BUSINESS }
    const { organization } = await federation.updateOrganizationPlan(request, as('local-operator'))
    assert.equal(organization?.plan, Plan.BUSINESS)
    const missing = federation.updateOrganizationPlan({ ...request, organizationId: 'org_1' }, as('local-operator'))
    assert.deepEqual(await refusalOf(missing), {
      ...{ code: 'NotFound', domain: 'identity', reason: 'ORGANIZATION_NOT_FOUND' },
      ...{ metadata: { organization_id: 'org_1' }, message: 'Organization not found: org_1' },
    })
  })

  test(`only the operator may manage organizations, and requests are checked (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as } = identity
    const plan = Plan.FREE
    const calls = [
      federation.createOrganization({ name: 'a', plan }, as('management')),
      federation.listOrganizations({}, as('management')),
      federation.updateOrganizationPlan({ organizationId, plan }, as('management')),
    ]
    for (const { reason } of await Promise.all(calls.map(refusalOf))) assert.equal(reason, 'OPERATOR_REQUIRED')
    for (const [call, field] of [
      [() => federation.createOrganization({ name: '', plan }, as('local-operator')), 'name'],
      [() => federation.createOrganization({ name: 'x'.repeat(257), plan }, as('local-operator')), 'name'],
      [() => federation.createOrganization({ name: 'a' }, as('local-operator')), 'plan'],
      [() => federation.updateOrganizationPlan({ organizationId, plan: 9 as Plan }, as('local-operator')), 'plan'],
      [() => federation.listOrganizations({ offset: -1 }, as('local-operator')), 'offset'],
    ] as const) {
      const { reason, metadata } = await refusalOf(call())
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', field])
    }
  })
})
