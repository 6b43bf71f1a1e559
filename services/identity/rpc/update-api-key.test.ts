import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOptions } from '#shared/rpc/call-context.ts'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`a key is disabled and enabled again, any number of times (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as, create } = identity
    const { keyId, secret } = await create({ name: 'a key' })
    for (const disabled of [true, true, false, false]) {
      const { apiKey } = await client.updateApiKey(
        { keyId, disabled, updateMask: { paths: ['disabled'] } },
        as('management'),
      )
      assert.deepEqual([apiKey?.keyId, apiKey?.name, apiKey?.disabled], [keyId, 'a key', disabled])
      const answer = client.authenticate({ credential: { case: 'apiKey', value: secret } })
      if (disabled) assert.equal((await refusalOf(answer)).reason, 'CREDENTIAL_REFUSED')
      else assert.equal((await answer).principal?.apiKeyId, keyId)
    }
  })

  test(`a key that is missing, or of another workspace, is not found (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as, create, organizationId } = identity
    const { keyId } = await create()
    const principal = { organizationId, workspaceId: 'wrk_other', apiKeyId: '', kind: 'management' } as const
    const expected = (key_id: string) => ({
      ...{ code: 'NotFound', domain: 'identity', reason: 'API_KEY_NOT_FOUND' },
      ...{ metadata: { key_id }, message: `API key not found: ${key_id}` },
    })
    const unknown = client.updateApiKey(
      { keyId: 'key_unknown', disabled: true, updateMask: { paths: ['disabled'] } },
      as('management'),
    )
    assert.deepEqual(await refusalOf(unknown), expected('key_unknown'))
    const foreign = client.updateApiKey(
      { keyId, disabled: true, updateMask: { paths: ['disabled'] } },
      callOptions({ principal }),
    )
    assert.deepEqual(await refusalOf(foreign), expected(keyId))
  })

  test(`only a management key may change keys, and authority comes before the rest (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const call = identity.client.updateApiKey(
      { keyId: 'no id', disabled: true, updateMask: { paths: ['disabled'] } },
      identity.as('workspace', 'key_1'),
    )
    assert.equal((await refusalOf(call)).reason, 'MANAGEMENT_KEY_REQUIRED')
    const manager = identity.client.updateApiKey(
      { keyId: 'no id', disabled: true, updateMask: { paths: ['disabled'] } },
      identity.as('management'),
    )
    assert.deepEqual((await refusalOf(manager)).metadata, {
      field: 'key_id',
      problem: 'must be an id of the form key_…',
    })
  })
})
