import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`a deleted key is refused from the next call on, and is no key any more (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const { keyId, secret } = await identity.create()
    const credential = { case: 'apiKey', value: secret } as const
    await client.authenticate({ credential })
    await client.deleteApiKey({ keyId }, as('management'))
    assert.equal((await refusalOf(client.authenticate({ credential }))).reason, 'CREDENTIAL_REFUSED')
    const { apiKeys } = await client.listApiKeys({}, as('management'))
    assert.equal(
      apiKeys.some((key) => key.keyId === keyId),
      false,
    )
    assert.deepEqual(await refusalOf(client.deleteApiKey({ keyId }, as('management'))), {
      ...{ code: 'NotFound', domain: 'identity', reason: 'API_KEY_NOT_FOUND', metadata: { key_id: keyId } },
      message: `API key not found: ${keyId}`,
    })
  })

  test(`only a management key and the operator may delete a key, and an id has the form of one (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const { keyId } = await identity.create()
    for (const kind of ['workspace', 'personal'] as const) {
      const { reason } = await refusalOf(client.deleteApiKey({ keyId }, as(kind, keyId)))
      assert.equal(reason, 'MANAGEMENT_KEY_REQUIRED')
    }
    assert.equal((await refusalOf(client.deleteApiKey({ keyId: '' }, as('management')))).reason, 'REQUEST_INVALID')
    await client.deleteApiKey({ keyId }, as('local-operator'))
  })
})
