import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type IssuerSettingsSchema, Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { openFederation } from '#test/support/federation.ts'
import { openIdentity, type TestIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { newTokenKey } from '#test/support/subject-tokens.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'

type Settings = MessageInitShape<typeof IssuerSettingsSchema>
const settings = { name: 'CI', issuerUrl: 'https://issuer.example' }

const createIssuer = async ({ federation, organizationId, as }: TestIdentity, more: Settings = {}) => {
  const request = { organizationId, settings: { ...settings, ...more } as typeof settings }
  const { issuer } = await federation.createIssuer(request, as('management', 'key_admin'))
  return issuer ?? assert.fail()
}

forEachTransport((name, connect) => {
  test(`an issuer is created, found, listed, changed field by field, and deleted (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as, clock } = identity
    const issuer = await createIssuer(identity, { maxAgeSeconds: 60 })
    assert.match(issuer.issuerId, /^iss_[0-9A-Za-z]{24}$/)
    assert.deepEqual(
      [issuer.revision, issuer.settings?.keySource.case, issuer.settings?.maxAgeSeconds, issuer.keyHealth],
      [1, undefined, 60, undefined],
    )
    const own = { organizationId, issuerId: issuer.issuerId }
    assert.deepEqual((await federation.getIssuer(own, as('management'))).issuer, issuer)
    const second = await createIssuer(identity, { name: 'second' })
    const { issuers, totalSize } = await federation.listIssuers({ organizationId, offset: 1 }, as('management'))
    assert.deepEqual([issuers, totalSize], [[second], 2])
    clock.time += 1000
    const changes = { keySource: { case: 'jwksUrl', value: 'https://keys.example/jwks' }, name: 'not named' } as const
    const updateMask = { paths: ['jwks_url', 'max_age_seconds'] }
    const request = { ...own, settings: changes, updateMask }
    const changed = (await federation.updateIssuer(request, as('management'))).issuer
    assert.deepEqual([changed?.revision, changed?.settings?.name], [2, 'CI'])
    assert.deepEqual(
      [changed?.settings?.keySource.value, changed?.settings?.maxAgeSeconds],
      ['https://keys.example/jwks', undefined],
    )
    await federation.deleteIssuer(own, as('management'))
    const calls = [
      federation.getIssuer(own, as('management')),
      federation.deleteIssuer(own, as('management')),
      federation.updateIssuer({ ...own, updateMask: { paths: ['name'] } }, as('management')),
    ]
    for (const { reason, metadata } of await Promise.all(calls.map(refusalOf))) {
      assert.deepEqual([reason, metadata], ['ISSUER_NOT_FOUND', { issuer_id: issuer.issuerId }])
    }
  })

  test(`an update without a change keeps the health of the keys, any other shows none (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { identity, stores } = federation
    const { organizationId, as } = identity
    const {
      issuerId,
      revision,
      settings: { name },
    } = await federation.addIssuer({ keySource: { case: undefined } })
    const attempt = { time: 5_000, failure: 'no answer', timeNextTry: undefined }
    await stores.issuerHealth.record({ organizationId, issuerId, revision }, attempt)
    const rename = async (name: string) => {
      const request = { organizationId, issuerId, settings: { name }, updateMask: { paths: ['name'] } }
      return (await identity.federation.updateIssuer(request, as('management'))).issuer
    }
    const [same, renamed] = [await rename(name), await rename('another')]
    assert.deepEqual([same?.revision, same?.keyHealth?.lastFailure], [1, 'no answer'])
    assert.deepEqual([renamed?.revision, renamed?.keyHealth], [2, undefined])
  })

  test(`removing a source of keys removes it only if it is the one in use (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as } = identity
    const url = { case: 'jwksUrl', value: 'https://keys.example/jwks' } as const
    const inline = { case: 'jwks', value: JSON.stringify({ keys: [newTokenKey('ES256', 'k1').jwk] }) } as const
    const cases = [
      [inline, ['jwks_url'], inline.case, 1],
      [url, ['jwks'], url.case, 1],
      [url, ['discovery'], url.case, 1],
      [inline, ['jwks'], undefined, 2],
      [url, ['jwks_url'], undefined, 2],
      [inline, ['jwks', 'jwks_url'], undefined, 2],
    ] as const
    for (const [keySource, paths, expected, revision] of cases) {
      const { issuerId } = await createIssuer(identity, { keySource })
      const request = { organizationId, issuerId, settings: {}, updateMask: { paths: [...paths] } }
      const { issuer } = await federation.updateIssuer(request, as('management'))
      assert.deepEqual([issuer?.settings?.keySource.case, issuer?.revision], [expected, revision], `${paths}`)
    }
    const { issuerId } = await createIssuer(identity, { keySource: inline })
    for (const keySource of [url, inline]) {
      for (const paths of [
        ['jwks_url', 'jwks'],
        ['jwks', 'jwks_url'],
      ]) {
        const request = { organizationId, issuerId, settings: { keySource }, updateMask: { paths } }
        const { issuer } = await federation.updateIssuer(request, as('management'))
        assert.equal(issuer?.settings?.keySource.case, keySource.case)
      }
    }
  })

  test(`a setting that cannot be saved is reported by its field, also in an update (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, organizationId, as } = identity
    const { issuerId } = await createIssuer(identity)
    const jwks = (value: string): Settings => ({ keySource: { case: 'jwks', value } })
    const cases: readonly [Settings, string, string][] = [
      [{ name: '' }, 'name', 'name'],
      [{ name: 'x'.repeat(257) }, 'name', 'name'],
      [{ issuerUrl: 'http://issuer.example' }, 'issuer_url', 'issuer_url'],
      [{ issuerUrl: `https://${'x'.repeat(2048)}` }, 'issuer_url', 'issuer_url'],
      [{ keySource: { case: 'jwksUrl', value: 'https://127.0.0.1/keys' } }, 'jwks_url', 'jwks_url'],
      [jwks('{}'), 'jwks', 'jwks'],
      [jwks(''), 'jwks', 'jwks'],
      [jwks('☂'.repeat(200_000)), 'jwks', 'jwks'],
      [{ maxAgeSeconds: 0 }, 'max_age_seconds', 'max_age_seconds'],
    ]
    for (const [change, path, field] of cases) {
      const created = await refusalOf(createIssuer(identity, change))
      assert.deepEqual([created.reason, created.metadata.field], ['REQUEST_INVALID', field])
      const request = { organizationId, issuerId, settings: change as typeof settings, updateMask: { paths: [path] } }
      const updated = await refusalOf(federation.updateIssuer(request, as('management')))
      assert.deepEqual([updated.reason, updated.metadata.field], ['REQUEST_INVALID', field])
    }
    for (const paths of [[], ['revision'], ['key_source'], ['name', 'nothing']]) {
      const request = { organizationId, issuerId, settings, updateMask: { paths } }
      const { reason, metadata } = await refusalOf(federation.updateIssuer(request, as('management')))
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', 'update_mask'])
    }
    const { issuer } = await federation.getIssuer({ organizationId, issuerId }, as('management'))
    assert.equal(issuer?.revision, 1)
  })
})

test('calls for another organization, with another kind of key or a plan without federation are refused', async () => {
  await using identity = await openIdentity(connectLocal)
  const { federation, organizationId, as } = identity
  const { issuerId } = await createIssuer(identity)
  const calls = (id: string, kind: 'management' | 'workspace') => {
    const own = { organizationId: id, issuerId }
    const updateMask = { paths: ['name'] }
    const reading = [
      () => federation.listIssuers({ organizationId: id }, as(kind)),
      () => federation.getIssuer(own, as(kind)),
    ]
    const changing = [
      () => federation.createIssuer({ organizationId: id, settings }, as(kind)),
      () => federation.updateIssuer({ ...own, settings, updateMask }, as(kind)),
    ]
    return { reading, changing, all: [...reading, ...changing, () => federation.deleteIssuer(own, as(kind))] }
  }
  for (const call of calls('org_other', 'management').all) {
    assert.equal((await refusalOf(call())).reason, 'ORGANIZATION_NOT_FOUND')
  }
  for (const call of calls(organizationId, 'workspace').all) {
    assert.equal((await refusalOf(call())).reason, 'MANAGEMENT_KEY_REQUIRED')
  }
  await federation.updateOrganizationPlan({ organizationId, plan: Plan.FREE }, as('local-operator'))
  const { reading, changing } = calls(organizationId, 'management')
  for (const call of reading) await call()
  for (const call of changing) assert.equal((await refusalOf(call())).reason, 'PLAN_REQUIRED')
  await federation.deleteIssuer({ organizationId, issuerId }, as('management'))
})

test('an organization has at most 100 issuers', async () => {
  await using identity = await openIdentity(connectLocal)
  await Promise.all(Array.from({ length: 100 }, () => createIssuer(identity)))
  const { code, reason, metadata } = await refusalOf(createIssuer(identity))
  assert.deepEqual([code, reason, metadata], ['FailedPrecondition', 'TOO_MANY_ISSUERS', { most: '100' }])
})
