import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { callOptions } from '#shared/rpc/call-context.ts'
import { openIdentity, type TestIdentity, testKeys } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { mintNow, openBeside } from '#test/support/signing.ts'
import { forEachTransport } from '#test/support/transports.ts'

const refused = {
  code: 'Unauthenticated',
  domain: 'identity',
  reason: 'CREDENTIAL_REFUSED',
  metadata: {},
  message: 'The credential is not valid',
} as const

const present = ({ client }: TestIdentity, key: string) =>
  client.authenticate({ credential: { case: 'apiKey', value: key } })

/** For a token that was made here. */
const refusedOurs = { ...refused, metadata: { ours: 'true' } }

const presentToken = ({ client }: TestIdentity, token: string) =>
  client.authenticate({ credential: { case: 'accessToken', value: token } })

forEachTransport((name, connect) => {
  test(`a key yields its organization, workspace, id and kind (${name})`, async () => {
    await using identity = await openIdentity(connect)
    for (const kind of [Principal_Kind.WORKSPACE, Principal_Kind.PERSONAL, Principal_Kind.MANAGEMENT]) {
      const { keyId, secret } = await identity.create({ kind })
      const { principal } = await present(identity, secret)
      const { organizationId, workspaceId } = identity
      const $typeName = 'portico.identity.v1.Principal'
      assert.deepEqual({ ...principal }, { $typeName, organizationId, workspaceId, apiKeyId: keyId, kind })
    }
  })

  test(`the keys that the operator chose are valid from the start (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const management = await present(identity, testKeys.management)
    assert.equal(management.principal?.kind, Principal_Kind.MANAGEMENT)
    const workspace = await present(identity, testKeys.workspace)
    assert.equal(workspace.principal?.kind, Principal_Kind.WORKSPACE)
  })

  test(`the local operator acts in the bootstrap workspace and has no key (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { principal } = await identity.client.authenticate({ credential: { case: 'localOperator', value: {} } })
    const { organizationId, workspaceId } = identity
    assert.deepEqual(
      { ...principal },
      {
        $typeName: 'portico.identity.v1.Principal',
        ...{ organizationId, workspaceId, kind: Principal_Kind.LOCAL_OPERATOR },
      },
    )
  })

  test(`an unknown, a disabled and an expired key are refused with the same error, from the next call on (${name})`, async () => {
    await using identity = await openIdentity(connect)
    for (const key of ['', 'sk-portico-unknown', 'x'.repeat(5000), `${testKeys.workspace} `, 'ключ']) {
      assert.deepEqual(await refusalOf(present(identity, key)), refused)
    }
    const disabled = await identity.create()
    await present(identity, disabled.secret)
    await identity.client.updateApiKey(
      { keyId: disabled.keyId, disabled: true, updateMask: { paths: ['disabled'] } },
      identity.as('management'),
    )
    assert.deepEqual(await refusalOf(present(identity, disabled.secret)), refused)

    const expiring = await identity.create({ expireTime: identity.clock.time + 1000 })
    identity.clock.time += 999
    await present(identity, expiring.secret)
    identity.clock.time += 1
    assert.deepEqual(await refusalOf(present(identity, expiring.secret)), refused)
  })

  test(`an access token yields the principal of the key that it acts as (${name})`, async () => {
    await using identity = await openIdentity(connect)
    await using beside = await openBeside(identity.directory, identity.clock)
    const { keyId, secret } = await identity.create()
    const token = await mintNow(identity, beside, { target: { workspaceId: identity.workspaceId, keyId } })
    for (const presented of [token, token]) {
      assert.deepEqual(await presentToken(identity, presented), await present(identity, secret))
    }
  })

  test(`a token whose key is disabled, expired or gone is refused from the next call on, just like an expired token (${name})`, async () => {
    await using identity = await openIdentity(connect)
    await using beside = await openBeside(identity.directory, identity.clock)
    const { workspaceId, clock } = identity
    const tokenFor = (keyId: string) => mintNow(identity, beside, { target: { workspaceId, keyId } })

    const { keyId } = await identity.create()
    const token = await tokenFor(keyId)
    for (const disabled of [true, false, true, false]) {
      await identity.client.updateApiKey(
        { keyId, disabled, updateMask: { paths: ['disabled'] } },
        identity.as('management'),
      )
      if (disabled) assert.deepEqual(await refusalOf(presentToken(identity, token)), refusedOurs)
      else await presentToken(identity, token)
    }
    const expiring = await identity.create({ expireTime: clock.time + 60_000 })
    const second = await tokenFor(expiring.keyId)
    clock.time += 59_999
    await presentToken(identity, second)
    clock.time += 1
    assert.deepEqual(await refusalOf(presentToken(identity, second)), refusedOurs)
    await presentToken(identity, token)
    clock.time += 900_000
    assert.deepEqual(await refusalOf(presentToken(identity, token)), refusedOurs)
    assert.deepEqual(await refusalOf(presentToken(identity, await tokenFor('key_ofnobody'))), refusedOurs)
    for (const kind of [Principal_Kind.MANAGEMENT, Principal_Kind.PERSONAL]) {
      const other = await identity.create({ kind })
      assert.deepEqual(await refusalOf(presentToken(identity, await tokenFor(other.keyId))), refusedOurs)
    }
    const elsewhere = await mintNow(identity, beside, { target: { workspaceId: 'wrk_other', keyId } })
    assert.deepEqual(await refusalOf(presentToken(identity, elsewhere)), refusedOurs)
  })

  test(`a text that is no access token of ours, even a key, is refused like an unknown key (${name})`, async () => {
    await using identity = await openIdentity(connect)
    for (const text of ['', 'eyJ.eyJ.x', 'x'.repeat(20_000), testKeys.workspace, 'ключ']) {
      assert.deepEqual(await refusalOf(presentToken(identity, text)), refused)
    }
    await using beside = await openBeside(identity.directory, identity.clock, 'https://another.example')
    const { keyId } = await identity.create()
    const token = await mintNow(identity, beside, { target: { workspaceId: identity.workspaceId, keyId } })
    assert.deepEqual(await refusalOf(presentToken(identity, token)), refused)
    assert.deepEqual(await refusalOf(present(identity, token)), refused)
  })

  test(`a request without a credential is invalid (${name})`, async () => {
    await using identity = await openIdentity(connect)
    assert.deepEqual(await refusalOf(identity.client.authenticate({})), {
      code: 'InvalidArgument',
      domain: 'identity',
      reason: 'REQUEST_INVALID',
      metadata: { field: 'credential', problem: 'must be set' },
      message: 'credential: must be set',
    })
  })
})

forEachTransport((name, connect) => {
  test(`a key may spend until it is disabled or expires (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, clock, as, create } = identity
    const { keyId } = await create({ expireTime: clock.time + 1000 })
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
