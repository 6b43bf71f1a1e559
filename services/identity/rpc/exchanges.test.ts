import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { openFederation, type TestFederation } from '#test/support/federation.ts'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { newTokenKey, signToken } from '#test/support/subject-tokens.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const refused = {
  ...{ code: 'PermissionDenied', domain: 'identity', reason: 'GRANT_REFUSED', metadata: {} },
  message: 'The subject token was not accepted',
} as const

const entriesOf = async ({ stores, identity }: TestFederation, policyId: string) => {
  const { items } = await stores.auditLog.list(identity.organizationId, { policyId }, undefined, 50)
  return items.map(({ event }) => event).filter((event) => event.case !== 'change')
}

forEachTransport((name, connect) => {
  test(`a subject token becomes an access token that acts as the key (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { identity, policy, keyId } = federation
    const { accessToken, expiresInSeconds } = await federation.exchange()
    assert.equal(expiresInSeconds, 300)
    const { principal } = await identity.client.authenticate({
      credential: { case: 'accessToken', value: accessToken },
    })
    assert.equal(principal?.apiKeyId, keyId)
    const [event] = await entriesOf(federation, policy.policyId)
    assert.ok(event?.case === 'exchangeAccepted')
    assert.deepEqual(
      [event.value.subject, event.value.keyId, event.value.clientNetwork],
      ['a workload', keyId, '192.0.2.1'],
    )
  })

  test(`every refusal of a token or a policy is the same error, and the audit log has its reason (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { policy, stores, identity } = federation
    const paused = await federation.addPolicy({ enabled: false })
    const orphan = await federation.addPolicy({ issuerId: 'iss_gone' })
    for (const [token, policyId, reason] of [
      [federation.token(), randomUUID(), undefined],
      [federation.token(), '1', undefined],
      [federation.token(), paused.policyId, 'policy'],
      [federation.token(), orphan.policyId, 'issuer'],
      [signToken({}, newTokenKey('ES256', 'k1')), policy.policyId, 'claims'],
      [federation.token({ sub: 'another' }), policy.policyId, 'subject'],
      [federation.token({ exp: identity.clock.time / 1000 }), policy.policyId, 'expiry'],
    ] as const) {
      const before = (await entriesOf(federation, policyId)).length
      assert.deepEqual(await refusalOf(federation.exchange(token, policyId)), refused)
      if (reason === undefined) continue
      const [event] = await waitUntil('an entry', async () => {
        const entries = await entriesOf(federation, policyId)
        return entries.length > before ? entries : undefined
      })
      assert.ok(event?.case === 'exchangeRefused')
      assert.deepEqual([event.value.reason, event.value.clientNetwork], [reason, '192.0.2.1'])
    }
    await stores.organizations.setPlan(identity.organizationId, Plan.FREE, { time: 0 })
    assert.deepEqual(await refusalOf(federation.exchange()), refused)
  })

  test(`a disabled key refuses exchanges as well as its access tokens (${name})`, async () => {
    await using federation = await openFederation(connect)
    const { identity, keyId } = federation
    const { accessToken } = await federation.exchange()
    await identity.client.updateApiKey(
      { keyId, disabled: true, updateMask: { paths: ['disabled'] } },
      identity.as('management'),
    )
    assert.deepEqual(await refusalOf(federation.exchange()), refused)
    const credential = { case: 'accessToken', value: accessToken } as const
    assert.equal((await refusalOf(identity.client.authenticate({ credential }))).reason, 'CREDENTIAL_REFUSED')
  })

  test(`a token of an issuer with single_use is exchanged only once (${name})`, async () => {
    await using federation = await openFederation(connect)
    const issuer = await federation.addIssuer({ issuerUrl: 'https://once.example', singleUse: true })
    const policy = await federation.addPolicy({ issuerId: issuer.issuerId })
    for (const claims of [{ jti: 'one' }, { jti: 'two', exp: federation.identity.clock.time / 1000 + 300.123_456 }]) {
      const token = federation.token({ iss: issuer.settings.issuerUrl, ...claims })
      const results = await Promise.allSettled(
        Array.from({ length: 10 }, () => federation.exchange(token, policy.policyId)),
      )
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.deepEqual(await refusalOf(federation.exchange(token, policy.policyId)), refused)
    }
  })

  test(`a text that is no JWT and a field out of bounds are each refused with a reason of their own (${name})`, async () => {
    await using federation = await openFederation(connect)
    assert.equal((await refusalOf(federation.exchange('a.b.c'))).reason, 'SUBJECT_TOKEN_INVALID')
    for (const [token, policyId, field] of [
      ['', 'a', 'subject_token'],
      ['a'.repeat(16_385), 'a', 'subject_token'],
      ['a', '', 'federation_policy_id'],
      ['a', 'a'.repeat(513), 'federation_policy_id'],
    ] as const) {
      const { reason, metadata } = await refusalOf(federation.exchange(token, policyId))
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', field])
    }
  })

  test(`keys that cannot be fetched are ISSUER_KEYS_UNAVAILABLE, with the time of the next try (${name})`, async () => {
    await using federation = await openFederation(connect)
    const keySource = { case: 'jwksUrl', value: 'https://127.0.0.1/jwks' } as const
    const issuer = await federation.addIssuer({ issuerUrl: 'https://away.example', keySource })
    const policy = await federation.addPolicy({ issuerId: issuer.issuerId })
    const refusal = await refusalOf(
      federation.exchange(federation.token({ iss: issuer.settings.issuerUrl }), policy.policyId),
    )
    assert.deepEqual([refusal.code, refusal.reason], ['Unavailable', 'ISSUER_KEYS_UNAVAILABLE'])
    assert.match(refusal.metadata.retry_after ?? '', /^[1-9]\d*$/)
    const other = federation.token({ iss: issuer.settings.issuerUrl, sub: 'another' })
    assert.deepEqual(await refusalOf(federation.exchange(other, policy.policyId)), refused)
  })
})

forEachTransport((name, connect) => {
  test(`exchanges that gateways admit are counted together, in steps of two seconds (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { federation, clock } = identity
    const add = async (...counts: number[]) => {
      const { totals } = await federation.countExchanges({ admitted: [{ network: '10.0.0.1', counts }] })
      return totals.map(({ network, counts: [now, before] }) => ({ network, now, before }))
    }
    assert.deepEqual(await add(3), [{ network: '10.0.0.1', now: 3, before: 0 }])
    clock.time += 1_999
    assert.deepEqual(await add(2, 1), [{ network: '10.0.0.1', now: 5, before: 1 }])
    clock.time += 1
    assert.deepEqual(await add(), [{ network: '10.0.0.1', now: 0, before: 5 }])
  })

  test(`a report that is too large is refused (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const count = (admitted: { network: string; counts: number[] }[]) =>
      refusalOf(identity.federation.countExchanges({ admitted }))
    const many = Array.from({ length: 1_001 }, (_, i) => ({ network: `${i}`, counts: [] }))
    assert.equal((await count(many)).metadata.field, 'admitted')
    assert.equal((await count([{ network: '', counts: [] }])).metadata.field, 'admitted[0].network')
    assert.equal((await count([{ network: 'a', counts: Array(33).fill(1) }])).metadata.field, 'admitted[0].counts')
  })
})
