import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { mintNow, openBeside } from '#test/support/signing.ts'
import { forEachTransport } from '#test/support/transports.ts'

const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid

forEachTransport((name, connect) => {
  test(`everybody may read the public keys, and for how long to keep them (${name})`, async () => {
    await using identity = await openIdentity(connect)
    await using beside = await openBeside(identity.directory, identity.clock)
    const { keys, maxAgeSeconds } = await identity.federation.listSigningKeys({})
    assert.deepEqual([keys.length, maxAgeSeconds], [1, 300])
    assert.equal(keys[0]?.kid, kidOf(await mintNow(identity, beside)))
    assert.match(keys[0]?.kid ?? '', /^sig_\w{24}$/)
    for (const part of [keys[0]?.x, keys[0]?.y]) assert.match(part ?? '', /^[\w-]{43}$/)
  })

  test(`a rotated key is listed from then on, and signs only once every kept list has run out (${name})`, async () => {
    await using identity = await openIdentity(connect)
    await using beside = await openBeside(identity.directory, identity.clock)
    const operator = identity.as('local-operator')
    const { next, useTime } = await identity.federation.rotateSigningKey({}, operator)
    const { keys, maxAgeSeconds } = await identity.federation.listSigningKeys({})
    assert.deepEqual([keys.length, keys[1]], [2, next])
    assert.ok(useTime > identity.clock.time + 2_000 * maxAgeSeconds)
    const again = await identity.federation.rotateSigningKey({}, operator)
    assert.deepEqual([again.next, again.useTime], [next, useTime])
    assert.equal(kidOf(await mintNow(identity, beside)), keys[0]?.kid)
    identity.clock.time = useTime
    assert.equal(kidOf(await mintNow(identity, beside)), next?.kid)
  })

  test(`only the operator may rotate the signing key (${name})`, async () => {
    await using identity = await openIdentity(connect)
    for (const kind of ['workspace', 'personal', 'management'] as const) {
      const refusal = await refusalOf(identity.federation.rotateSigningKey({}, identity.as(kind)))
      assert.deepEqual([refusal.code, refusal.reason], ['PermissionDenied', 'OPERATOR_REQUIRED'])
    }
    assert.equal((await refusalOf(identity.federation.rotateSigningKey({}))).reason, 'PRINCIPAL_MISSING')
    assert.equal((await identity.federation.listSigningKeys({})).keys.length, 1)
  })
})
