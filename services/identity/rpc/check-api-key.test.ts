import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { callOptions } from '#shared/rpc/call-context.ts'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

const refused = {
  code: 'Unauthenticated',
  domain: 'identity',
  reason: 'CREDENTIAL_REFUSED',
  metadata: {},
  message: 'The credential is not valid',
} as const

forEachTransport((name, connect) => {
  test(`a key may spend until it is disabled or expires (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, clock, as, create } = identity
    const { keyId } = await create({ expireTime: timestampFromMs(clock.time + 1000) })
    await client.checkApiKey({ keyId }, as('workspace', keyId))
    await client.updateApiKey({ keyId, disabled: true, updateMask: { paths: ['disabled'] } }, as('management'))
    assert.deepEqual(await refusalOf(client.checkApiKey({ keyId }, as('workspace', keyId))), refused)
    await client.updateApiKey({ keyId, disabled: false, updateMask: { paths: ['disabled'] } }, as('management'))
    await client.checkApiKey({ keyId }, as('workspace', keyId))
    clock.time += 1000
    assert.deepEqual(await refusalOf(client.checkApiKey({ keyId }, as('workspace', keyId))), refused)
  })

  test(`a key of another workspace counts as unknown (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { keyId } = await identity.create()
    const { organizationId } = identity
    const kind = 'workspace'
    const outsider = callOptions({ principal: { organizationId, workspaceId: 'wrk_other', apiKeyId: keyId, kind } })
    assert.deepEqual(await refusalOf(identity.client.checkApiKey({ keyId }, outsider)), refused)
    const unknown = identity.client.checkApiKey({ keyId: 'key_unknown' }, identity.as('workspace'))
    assert.deepEqual(await refusalOf(unknown), refused)
  })

  test(`a malformed id is invalid, and a call without a principal is refused (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { reason, metadata } = await refusalOf(identity.client.checkApiKey({ keyId: '' }, identity.as('workspace')))
    assert.equal(reason, 'REQUEST_INVALID')
    assert.deepEqual(metadata, { field: 'key_id', problem: 'must be an id of the form key_…' })
    assert.deepEqual(await refusalOf(identity.client.checkApiKey({ keyId: 'key_1' })), {
      code: 'Unauthenticated',
      domain: 'identity',
      reason: 'PRINCIPAL_MISSING',
      metadata: {},
      message: 'The call names no principal',
    })
  })
})
