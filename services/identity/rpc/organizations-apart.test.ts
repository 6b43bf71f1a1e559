import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { callOptions } from '#shared/rpc/call-context.ts'
import { openIdentity, type TestIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { newTokenKey, signToken, type TokenKey } from '#test/support/subject-tokens.ts'
import { forEachTransport } from '#test/support/transports.ts'

const URL_OF_BOTH = 'https://issuer.example'
const AUDIENCE = 'https://portico.example'

/** An organization with an issuer and a policy, which differ from those of the other one only by ids and key pair. */
async function addOrganization({ client, federation, as }: TestIdentity, key: TokenKey) {
  const made = await federation.createOrganization({ name: 'one of two', plan: Plan.BUSINESS }, as('local-operator'))
  const [organizationId, { workspaceId }] = [made.organization?.organizationId ?? '', made]
  const admin = callOptions({ principal: { organizationId, workspaceId, apiKeyId: 'key_admin', kind: 'management' } })
  const keySource = { case: 'jwks', value: JSON.stringify({ keys: [key.jwk] }) } as const
  const issuer = { name: 'an issuer', issuerUrl: URL_OF_BOTH, keySource }
  const { issuerId = '' } = (await federation.createIssuer({ organizationId, settings: issuer }, admin)).issuer ?? {}
  const { apiKey } = await client.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'a key' }, admin)
  const keyId = apiKey?.keyId ?? ''
  const policy = { name: 'a policy', issuerId, subject: 'a workload', audience: AUDIENCE, keyId, enabled: true }
  const { policyId = '' } = (await federation.createPolicy({ organizationId, settings: policy }, admin)).policy ?? {}
  return { key, organizationId, workspaceId, admin, issuerId, keyId, policyId }
}

forEachTransport((name, connect) => {
  test(`a token of one organization is never accepted for another, whatever policy, key and kid are combined (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, federation, clock } = identity
    const organizations = [
      await addOrganization(identity, newTokenKey('ES256', 'k1')),
      await addOrganization(identity, newTokenKey('ES256', 'k1')),
    ]
    const now = clock.time / 1000
    const claims = { iss: URL_OF_BOTH, sub: 'a workload', aud: AUDIENCE, iat: now, exp: now + 300 }
    for (const signer of organizations) {
      for (const { policyId: federationPolicyId, keyId, organizationId } of organizations) {
        for (const header of [{}, { kid: undefined }]) {
          const exchanged = federation.exchangeToken({
            federationPolicyId,
            subjectToken: signToken(claims, signer.key, header),
          })
          if (signer.organizationId !== organizationId) {
            assert.equal((await refusalOf(exchanged)).reason, 'GRANT_REFUSED')
            continue
          }
          const value = (await exchanged).accessToken
          const { principal } = await client.authenticate({ credential: { case: 'accessToken', value } })
          assert.deepEqual([principal?.organizationId, principal?.apiKeyId], [organizationId, keyId])
        }
      }
    }
  })

  test(`the policies, issuers and keys of one organization do not exist for another (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation } = identity
    const one = await addOrganization(identity, newTokenKey('ES256', 'k1'))
    const two = await addOrganization(identity, newTokenKey('ES256', 'k1'))
    const reasonOf = async (call: Promise<unknown>) => (await refusalOf(call)).reason
    const { organizationId, admin } = two
    assert.equal(await reasonOf(federation.getPolicy({ ...one }, admin)), 'ORGANIZATION_NOT_FOUND')
    const own = { organizationId, policyId: one.policyId, issuerId: one.issuerId }
    assert.equal(await reasonOf(federation.getPolicy(own, admin)), 'POLICY_NOT_FOUND')
    assert.equal(await reasonOf(federation.pausePolicy(own, admin)), 'POLICY_NOT_FOUND')
    assert.equal(await reasonOf(federation.getIssuer(own, admin)), 'ISSUER_NOT_FOUND')
    const policy = { case: 'policyId', value: one.policyId } as const
    assert.equal(
      await reasonOf(federation.testPolicy({ organizationId, policy, subjectToken: 'a' }, admin)),
      'POLICY_NOT_FOUND',
    )
    const foreign = { name: 'new', subject: 'a', audience: 'b', enabled: true }
    for (const mixed of [
      { issuerId: one.issuerId, keyId: two.keyId },
      { issuerId: two.issuerId, keyId: one.keyId },
    ]) {
      const settings = { ...foreign, ...mixed }
      assert.equal(await reasonOf(federation.createPolicy({ organizationId, settings }, admin)), 'REQUEST_INVALID')
      const unsaved = { case: 'settings', value: settings } as const
      const request = { organizationId, policy: unsaved, subjectToken: 'a' }
      assert.equal(await reasonOf(federation.testPolicy(request, admin)), 'REQUEST_INVALID')
    }
    await federation.exchangeToken({
      federationPolicyId: one.policyId,
      subjectToken: signToken(
        { iss: URL_OF_BOTH, sub: 'a workload', aud: AUDIENCE, exp: identity.clock.time / 1000 + 300 },
        one.key,
      ),
    })
    const { entries } = await federation.listAuditEntries({ organizationId }, admin)
    assert.ok(entries.length > 0 && entries.every(({ event }) => event.case === 'change'))
  })
})
