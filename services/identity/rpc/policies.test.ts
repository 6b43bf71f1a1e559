import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Organization_Plan as Plan, type PolicySettingsSchema } from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openIdentity, type TestIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { type Connect, connectLocal, forEachTransport } from '#test/support/transports.ts'

type Settings = MessageInitShape<typeof PolicySettingsSchema>
const GITHUB = 'https://token.actions.githubusercontent.com'

/** An identity service with an issuer and a key, and functions that create policies for them. */
async function openPolicies(connect: Connect, env: Record<string, string> = {}) {
  const identity = await openIdentity(connect, env)
  const { federation, organizationId, as } = identity
  const addIssuer = async (issuerUrl: string) => {
    const request = { organizationId, settings: { name: 'an issuer', issuerUrl } }
    return (await federation.createIssuer(request, as('management'))).issuer?.issuerId ?? assert.fail()
  }
  const [issuerId, { keyId }] = [await addIssuer('https://issuer.example'), await identity.create()]
  const settings = { name: 'main', issuerId, subject: 'repo:a/b', audience: 'portico', keyId, enabled: true }
  const create = (change: Settings = {}) => {
    const whole = { ...settings, ...change } as typeof settings
    return federation.createPolicy({ organizationId, settings: whole }, as('management'))
  }
  const added = async (change: Settings = {}) => {
    const { policy = assert.fail() } = await create(change)
    return { policy, own: { organizationId, policyId: policy.policyId } }
  }
  return { identity, addIssuer, settings, create, added, [Symbol.asyncDispose]: () => identity[Symbol.asyncDispose]() }
}

const fieldOf = async (call: Promise<unknown>) => {
  const { reason, metadata } = await refusalOf(call)
  return [reason, metadata.field]
}

forEachTransport((name, connect) => {
  test(`a policy is created, found, listed, changed field by field, and deleted (${name})`, async () => {
    await using policies = await openPolicies(connect)
    const { federation, organizationId, workspaceId, as } = policies.identity
    const { policy, own } = await policies.added()
    assert.match(policy.policyId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.deepEqual([policy.revision, policy.settings?.workspaceId, policy.settings?.enabled], [1, workspaceId, true])
    assert.deepEqual((await federation.getPolicy(own, as('management'))).policy, policy)
    const other = await policies.addIssuer('https://other.example')
    const second = (await policies.added({ issuerId: other })).policy
    const of = async (more: object) =>
      (await federation.listPolicies({ organizationId, ...more }, as('management'))).policies
    assert.deepEqual(await of({}), [policy, second])
    assert.deepEqual(await of({ issuerId: other }), [second])
    assert.deepEqual(await of({ offset: 1, pageSize: 1 }), [second])
    const settings = { condition: 'subject.startsWith("repo:a/")', name: 'not named' }
    const request = { ...own, settings, updateMask: { paths: ['subject', 'condition'] } }
    const changed = (await federation.updatePolicy(request, as('management'))).policy
    assert.deepEqual([changed?.revision, changed?.settings?.name], [2, 'main'])
    assert.deepEqual([changed?.settings?.subject, changed?.settings?.condition], [undefined, settings.condition])
    await federation.deletePolicy(own, as('management'))
    const calls = [
      federation.getPolicy(own, as('management')),
      federation.deletePolicy(own, as('management')),
      federation.pausePolicy(own, as('management')),
      federation.resumePolicy(own, as('management')),
      federation.updatePolicy({ ...own, settings, updateMask: { paths: ['name'] } }, as('management')),
      federation.addPolicyCheck({ ...own, check: { scope: 'a' } }, as('management')),
      federation.removePolicyCheck({ ...own, check: 'scope' }, as('management')),
      federation.getPolicy({ ...own, policyId: 'no uuid' }, as('management')),
    ]
    const refusals = await Promise.all(calls.map(refusalOf))
    assert.deepEqual(new Set(refusals.map(({ reason }) => reason)), new Set(['POLICY_NOT_FOUND']))
  })

  test(`checks are added and removed one by one, a policy is paused and resumed (${name})`, async () => {
    await using policies = await openPolicies(connect)
    const { federation, as } = policies.identity
    const { own } = await policies.added()
    const add = (check: object) => federation.addPolicyCheck({ ...own, check }, as('management'))
    const remove = (check: string) => federation.removePolicyCheck({ ...own, check }, as('management'))
    await add({ scope: 'deploy' })
    const { checks } = (await add({ tokenType: 'id' })).policy?.settings ?? {}
    assert.deepEqual([checks?.scope, checks?.tokenType], ['deploy', 'id'])
    for (const check of [{ scope: 'deploy' }, { scope: 'other' }, { tokenType: 'id' }]) {
      const { code, reason } = await refusalOf(add(check))
      assert.deepEqual([code, reason], ['AlreadyExists', 'CHECK_EXISTS'])
    }
    for (const [check, field] of [
      [{}, 'check'],
      [{ scope: 'a', tokenType: 'b' }, 'check'],
      [{ scope: '' }, 'check.scope'],
      [{ tokenType: 'x'.repeat(513) }, 'check.token_type'],
    ] as const) {
      assert.deepEqual(await fieldOf(add(check)), ['REQUEST_INVALID', field])
    }
    const left = (await remove('scope')).policy?.settings?.checks
    assert.deepEqual([left?.scope, left?.tokenType], [undefined, 'id'])
    for (const check of ['scope', 'nothing', '__proto__', 'tokenType', '']) {
      assert.equal((await refusalOf(remove(check))).reason, 'CHECK_NOT_FOUND')
    }
    for (const enabled of [false, false, true, true]) {
      const call = enabled ? federation.resumePolicy : federation.pausePolicy
      assert.equal((await call(own, as('management'))).policy?.settings?.enabled, enabled)
    }
    assert.equal((await federation.getPolicy(own, as('management'))).policy?.revision, 6)
  })

  test(`a setting that cannot be saved is reported by its field, also in an update (${name})`, async () => {
    await using policies = await openPolicies(connect)
    const { identity, create } = policies
    const { federation, as } = identity
    const { own } = await policies.added()
    const management = await identity.create({ kind: Principal_Kind.MANAGEMENT })
    const personal = await identity.create({ kind: Principal_Kind.PERSONAL })
    const cases: readonly [Settings, string][] = [
      [{ name: '' }, 'name'],
      [{ subject: '' }, 'subject'],
      [{ subject: '😀'.repeat(513) }, 'subject'],
      [{ audience: '' }, 'audience'],
      [{ condition: 'x'.repeat(2001) }, 'condition'],
      [{ condition: 'subject' }, 'condition'],
      [{ condition: 'subject.matches("a")' }, 'condition'],
      [{ issuerId: 'iss_other' }, 'issuer_id'],
      [{ keyId: 'key_other' }, 'key_id'],
      [{ keyId: management.keyId }, 'key_id'],
      [{ keyId: personal.keyId }, 'key_id'],
    ]
    for (const [change, field] of cases) {
      assert.deepEqual(await fieldOf(create(change)), ['REQUEST_INVALID', field])
      const request = { ...own, settings: change as object, updateMask: { paths: [field] } }
      assert.deepEqual(await fieldOf(federation.updatePolicy(request, as('management'))), ['REQUEST_INVALID', field])
    }
    const neither = federation.updatePolicy({ ...own, updateMask: { paths: ['subject'] } }, as('management'))
    assert.deepEqual(await fieldOf(neither), ['REQUEST_INVALID', 'subject'])
    for (const path of ['enabled', 'checks', 'revision']) {
      const request = { ...own, settings: {}, updateMask: { paths: [path] } }
      assert.deepEqual(await fieldOf(federation.updatePolicy(request, as('management'))), [
        'REQUEST_INVALID',
        'update_mask',
      ])
    }
  })
})

test('a policy on a shared issuer without a pinned subject is saved with a warning, or refused', async () => {
  for (const mode of ['warn', 'refuse']) {
    await using policies = await openPolicies(connectLocal, { PORTICO_FEDERATION_SHARED_ISSUERS: mode })
    const { federation, as } = policies.identity
    const issuerId = await policies.addIssuer(GITHUB)
    const pinned: readonly Settings[] = [{ issuerId }, { issuerId, condition: 'true' }]
    for (const settings of pinned) assert.deepEqual((await policies.create(settings)).warnings, [])
    const byCondition = { issuerId, subject: undefined, condition: 'subject.startsWith("repo:a/")' } as object
    assert.deepEqual((await policies.create(byCondition)).warnings, [])
    const open = { issuerId, subject: undefined, condition: '"a" in audience' } as object
    const { own } = await policies.added({ issuerId, condition: 'true' })
    const request = { ...own, updateMask: { paths: ['subject'] } }
    if (mode === 'warn') {
      assert.match((await policies.create(open)).warnings.join(), /issues tokens to all of its users/)
      assert.match(
        (await federation.updatePolicy(request, as('management'))).warnings.join(),
        /issues tokens to all of its users/,
      )
    } else {
      assert.deepEqual(await fieldOf(policies.create(open)), ['REQUEST_INVALID', 'subject'])
      assert.deepEqual(await fieldOf(federation.updatePolicy(request, as('management'))), [
        'REQUEST_INVALID',
        'subject',
      ])
    }
  }
})

test('an issuer that moves to a shared address is changed with a warning for each policy without a pinned subject, or refused', async () => {
  for (const mode of ['warn', 'refuse']) {
    await using policies = await openPolicies(connectLocal, { PORTICO_FEDERATION_SHARED_ISSUERS: mode })
    const { federation, organizationId, as } = policies.identity
    const { issuerId } = policies.settings
    const move = (issuerUrl: string, paths = ['issuer_url']) => {
      const request = { organizationId, issuerId, settings: { issuerUrl, name: 'new' }, updateMask: { paths } }
      return federation.updateIssuer(request, as('management'))
    }
    const elsewhere = await policies.addIssuer('https://elsewhere.example')
    await policies.added({ condition: 'subject.startsWith("repo:a/")', subject: undefined } as object)
    await policies.added({ condition: '"a" in audience', subject: undefined, issuerId: elsewhere } as object)
    assert.deepEqual((await move(GITHUB)).warnings, [])
    await move('https://issuer.example')
    const { own } = await policies.added({ condition: '"a" in audience', subject: undefined } as object)
    assert.deepEqual((await move('https://other.example')).warnings, [])
    if (mode === 'warn') {
      const { warnings, issuer } = await move(GITHUB)
      assert.equal(issuer?.settings?.issuerUrl, GITHUB)
      assert.deepEqual(
        [warnings.length, warnings[0]?.startsWith(`policy ${own.policyId}: ${GITHUB} issues`)],
        [1, true],
      )
      assert.deepEqual((await move(GITHUB, ['issuer_url', 'name'])).warnings, [], 'it has not moved')
    } else {
      const { reason, metadata } = await refusalOf(move(GITHUB))
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', 'issuer_url'])
      assert.ok(metadata.problem?.includes(own.policyId))
      const { issuer } = await federation.getIssuer({ organizationId, issuerId }, as('management'))
      assert.equal(issuer?.settings?.issuerUrl, 'https://other.example')
    }
  }
})

test('a policy whose issuer or key has been deleted can be changed in every other way', async () => {
  await using policies = await openPolicies(connectLocal)
  const { federation, client, organizationId, as } = policies.identity
  const { own, policy } = await policies.added()
  await federation.deleteIssuer({ organizationId, issuerId: policies.settings.issuerId }, as('management'))
  await client.deleteApiKey({ keyId: policies.settings.keyId }, as('management'))
  const request = { ...own, settings: { name: 'new' }, updateMask: { paths: ['name'] } }
  const changed = (await federation.updatePolicy(request, as('management'))).policy
  assert.deepEqual([changed?.settings?.name, changed?.settings?.workspaceId], ['new', policy.settings?.workspaceId])
})

test('a policy shows whether its issuer has been deleted, in every operation, until it has another one', async () => {
  await using policies = await openPolicies(connectLocal)
  const { federation, organizationId, as } = policies.identity
  const { own, policy } = await policies.added()
  const admin = as('management')
  const change = (settings: object, path: string) =>
    federation.updatePolicy({ ...own, settings, updateMask: { paths: [path] } }, admin)
  const seen = async () => {
    const { policies: listed } = await federation.listPolicies({ organizationId }, admin)
    const answers = [
      await federation.getPolicy(own, admin),
      await change({ name: 'new' }, 'name'),
      await federation.pausePolicy(own, admin),
      await federation.resumePolicy(own, admin),
      await federation.addPolicyCheck({ ...own, check: { scope: 'a' } }, admin),
      await federation.removePolicyCheck({ ...own, check: 'scope' }, admin),
    ]
    const all = [...listed, ...answers.map((answer) => answer.policy)]
    return new Set(all.map((each) => each?.issuerDeleted))
  }
  assert.deepEqual([policy.issuerDeleted, await seen()], [false, new Set([false])])
  await federation.deleteIssuer({ organizationId, issuerId: policies.settings.issuerId }, admin)
  assert.deepEqual(await seen(), new Set([true]))
  const issuer = { name: 'another', issuerUrl: 'https://another.example' }
  const { issuerId = '' } = (await federation.createIssuer({ organizationId, settings: issuer }, admin)).issuer ?? {}
  assert.equal((await change({ issuerId }, 'issuer_id')).policy?.issuerDeleted, false)
  assert.deepEqual(await seen(), new Set([false]))
})

test('calls for another organization, with another kind of key or a plan without federation are refused', async () => {
  await using policies = await openPolicies(connectLocal)
  const { federation, organizationId, as }: TestIdentity = policies.identity
  const { policy } = await policies.added()
  await federation.addPolicyCheck(
    { organizationId, policyId: policy.policyId, check: { scope: 'a' } },
    as('management'),
  )
  const { settings } = policies
  const calls = (id: string, kind: 'management' | 'workspace') => {
    const own = { organizationId: id, policyId: policy.policyId }
    const changing = [
      () => federation.createPolicy({ organizationId: id, settings }, as(kind)),
      () => federation.updatePolicy({ ...own, settings, updateMask: { paths: ['name'] } }, as(kind)),
      () => federation.addPolicyCheck({ ...own, check: { tokenType: 'a' } }, as(kind)),
      () => federation.resumePolicy(own, as(kind)),
    ]
    const others = [
      () => federation.getPolicy(own, as(kind)),
      () => federation.listPolicies({ organizationId: id }, as(kind)),
      () => federation.removePolicyCheck({ ...own, check: 'scope' }, as(kind)),
      () => federation.pausePolicy(own, as(kind)),
      () => federation.deletePolicy(own, as(kind)),
    ]
    return { changing, others, all: [...changing, ...others] }
  }
  for (const call of calls('org_other', 'management').all) {
    assert.equal((await refusalOf(call())).reason, 'ORGANIZATION_NOT_FOUND')
  }
  for (const call of calls(organizationId, 'workspace').all) {
    assert.equal((await refusalOf(call())).reason, 'MANAGEMENT_KEY_REQUIRED')
  }
  await federation.updateOrganizationPlan({ organizationId, plan: Plan.FREE }, as('local-operator'))
  const { changing, others } = calls(organizationId, 'management')
  for (const call of changing) assert.equal((await refusalOf(call())).reason, 'PLAN_REQUIRED')
  for (const call of others) await call()
})

test('an organization has at most 1,000 policies', async () => {
  await using policies = await openPolicies(connectLocal)
  await Promise.all(Array.from({ length: 1_000 }, () => policies.create()))
  const { code, reason, metadata } = await refusalOf(policies.create())
  assert.deepEqual([code, reason, metadata], ['FailedPrecondition', 'TOO_MANY_POLICIES', { most: '1000' }])
})
