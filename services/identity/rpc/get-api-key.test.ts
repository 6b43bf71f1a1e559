import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`management keys are the operator's: others do not see them, but each sees itself (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const kind = Principal_Kind.MANAGEMENT
    const { keyId } = await identity.create({ kind })
    const own = { key: { case: 'keyId', value: keyId } } as const
    const hash = (await client.getApiKey(own, as('management', keyId))).apiKey?.hash ?? assert.fail()
    const another = as('management', 'key_another')
    const change = { keyId, disabled: true, updateMask: { paths: ['disabled'] } }
    const calls = [
      client.getApiKey(own, another),
      client.getApiKey({ key: { case: 'hash', value: hash } }, another),
      client.updateApiKey(change, another),
      client.deleteApiKey({ keyId }, another),
    ]
    for (const call of calls) assert.equal((await refusalOf(call)).reason, 'API_KEY_NOT_FOUND')
    for (const kinds of [[], [Principal_Kind.WORKSPACE]]) {
      const { apiKeys } = await client.listApiKeys({ kinds }, another)
      assert.deepEqual(
        apiKeys.map((key) => key.kind),
        [Principal_Kind.WORKSPACE],
      )
    }
    assert.equal((await refusalOf(client.listApiKeys({ kinds: [kind] }, another))).reason, 'REQUEST_INVALID')
    const operator = as('local-operator')
    assert.equal((await client.listApiKeys({ kinds: [kind] }, operator)).apiKeys.length, 2)
    assert.equal((await client.updateApiKey(change, operator)).apiKey?.disabled, true)
    await client.deleteApiKey({ keyId }, operator)
    assert.equal((await refusalOf(client.getApiKey(own, operator))).reason, 'API_KEY_NOT_FOUND')
  })
})
