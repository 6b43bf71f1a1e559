import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPolicy, openReplica, replicaToken } from '#test/support/identity-replica.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { newTokenKey } from '#test/support/subject-tokens.ts'

const options = { skip: skipWithoutMongo }

/** Two identity services with one database. */
async function openTwo() {
  const database = freshDatabaseName()
  const stack = new AsyncDisposableStack()
  stack.defer(() => dropDatabase(database))
  const settings = { PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database }
  const [one, two] = [stack.use(await openReplica(settings)), stack.use(await openReplica(settings))]
  return { one, two, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test(
  'a token of one replica is valid at the other at once, and a pause at the other counts here from the next exchange on',
  options,
  async () => {
    await using replicas = await openTwo()
    const { one, two } = replicas
    const key = newTokenKey('ES256', 'k1')
    const { policyId: federationPolicyId, keyId } = await addPolicy(one, key)
    const exchange = (replica: typeof one) =>
      replica.federation.exchangeToken({ federationPolicyId, subjectToken: replicaToken(key) })
    for (let round = 0; round < 20; round += 1) {
      const [here, there] = round % 2 === 0 ? [one, two] : [two, one]
      const { accessToken } = await exchange(here)
      const { principal } = await there.identity.authenticate({
        credential: { case: 'accessToken', value: accessToken },
      })
      assert.equal(principal?.apiKeyId, keyId)
      const policy = { organizationId: one.organizationId, policyId: federationPolicyId }
      await there.federation.pausePolicy(policy, there.admin)
      assert.equal((await refusalOf(exchange(here))).reason, 'GRANT_REFUSED')
      await there.federation.resumePolicy(policy, there.admin)
    }
  },
)

test('with single_use, a jti is accepted once by all replicas together', options, async () => {
  await using replicas = await openTwo()
  const { one, two } = replicas
  const key = newTokenKey('ES256', 'k1')
  const { policyId: federationPolicyId } = await addPolicy(one, key, true)
  for (let round = 0; round < 5; round += 1) {
    const subjectToken = replicaToken(key, { jti: `token ${round}` })
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? one : two).federation.exchangeToken({ federationPolicyId, subjectToken }),
      ),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  }
})

test('changed keys of an issuer take effect at every replica from the next exchange on', options, async () => {
  await using replicas = await openTwo()
  const { one, two } = replicas
  const [old, fresh] = [newTokenKey('ES256', 'k1'), newTokenKey('ES256', 'k1')]
  const { policyId: federationPolicyId, issuerId } = await addPolicy(one, old)
  const exchange = (key: typeof old) =>
    two.federation.exchangeToken({ federationPolicyId, subjectToken: replicaToken(key) })
  await exchange(old)
  assert.equal((await refusalOf(exchange(fresh))).reason, 'GRANT_REFUSED')
  const keySource = { case: 'jwks', value: JSON.stringify({ keys: [fresh.jwk] }) } as const
  const change = { settings: { keySource }, updateMask: { paths: ['jwks'] } }
  await one.federation.updateIssuer({ organizationId: one.organizationId, issuerId, ...change }, one.admin)
  await exchange(fresh)
  assert.equal((await refusalOf(exchange(old))).reason, 'GRANT_REFUSED')
})
