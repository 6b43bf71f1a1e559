import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  type KeyTerms,
  KeyTerms_Reset,
  KeyTerms_ResponsesDialect,
  KeyTermsSchema,
  Principal_Kind,
} from '#gen/portico/identity/v1/identity_pb.js'
import type { UpdateApiKeyRequestSchema } from '#gen/portico/identity/v1/identity_service_pb.js'
import { openIdentity, testKeys } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { mintNow, openBeside } from '#test/support/signing.ts'
import { forEachTransport } from '#test/support/transports.ts'

const terms = {
  ...{ limitNanos: 5_000_000_000n, limitReset: KeyTerms_Reset.DAILY, requestsPerMinute: 60, tokensPerMinute: 1_000n },
  ...{ concurrentRequests: 4, allowedModels: ['openai/*'], limitIncludesOwnKeys: true },
  ...{ responsesDialect: KeyTerms_ResponsesDialect.OPENAI, historyIds: false },
}
const shown = (message: KeyTerms | undefined) => {
  const { $typeName: _, $unknown: __, ...members } = message ?? {}
  return members
}

forEachTransport((name, connect) => {
  test(`authentication returns the terms of a key, however it is presented (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const { keyId, secret } = await identity.create({ terms })
    await using beside = await openBeside(identity.directory, identity.clock)
    const token = await mintNow(identity, beside, { target: { workspaceId: identity.workspaceId, keyId } })
    await client.setWorkspaceLimit({ limitNanos: 7n }, as('local-operator'))
    const expected = { ...terms, workspaceLimitNanos: 7n }
    const byKey = await client.authenticate({ credential: { case: 'apiKey', value: secret } })
    assert.deepEqual(shown(byKey.terms), expected)
    const byToken = await client.authenticate({ credential: { case: 'accessToken', value: token } })
    assert.deepEqual(shown(byToken.terms), expected)
    const checked = await client.checkApiKey({ keyId }, as('workspace', keyId))
    assert.deepEqual(shown(checked.terms), expected)
    const other = await client.authenticate({ credential: { case: 'apiKey', value: testKeys.workspace } })
    assert.deepEqual(shown(other.terms), {
      allowedModels: [],
      limitIncludesOwnKeys: false,
      workspaceLimitNanos: 7n,
    })
    const operator = await client.authenticate({ credential: { case: 'localOperator', value: {} } })
    assert.equal(operator.terms, undefined)
  })

  test(`a change of terms counts from the next call on, and leaves members alone that it does not name (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as, clock } = identity
    const { keyId, secret } = await identity.create({ terms, expireTime: clock.time + 1_000 })
    const change = (request: MessageInitShape<typeof UpdateApiKeyRequestSchema>) =>
      client.updateApiKey({ keyId, ...request } as typeof request, as('management', 'key_admin'))
    const authenticated = async () =>
      shown((await client.authenticate({ credential: { case: 'apiKey', value: secret } })).terms)
    clock.time += 500
    const changes = { terms: { limitNanos: 0n, allowedModels: [] }, name: 'other' }
    const paths = ['terms.limit_nanos', 'terms.allowed_models', 'terms.requests_per_minute', 'name']
    const { apiKey } = await change({ ...changes, updateMask: { paths } })
    const { requestsPerMinute: _, ...rest } = terms
    const expected = { ...rest, limitNanos: 0n, allowedModels: [] }
    assert.deepEqual([apiKey?.name, shown(apiKey?.terms)], ['other', expected])
    assert.deepEqual(apiKey?.updateTime, clock.time)
    assert.deepEqual(await authenticated(), expected)
    await change({ updateMask: { paths: ['expire_time', 'terms.limit_nanos'] } })
    clock.time += 1_000
    const { limitNanos: __, ...unlimited } = expected
    assert.deepEqual(await authenticated(), unlimited)
  })

  test(`a key may get itself, and a management key any key of its workspace, by id or by hash (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const made = await client.createApiKey(
      { kind: Principal_Kind.WORKSPACE, name: 'a', terms },
      as('management', 'key_admin'),
    )
    const { keyId = '', hash = '', creatorKeyId } = made.apiKey ?? {}
    assert.match(hash, /^[0-9a-f]{64}$/)
    assert.equal(creatorKeyId, 'key_admin')
    const byId = { key: { case: 'keyId', value: keyId } } as const
    const byHash = { key: { case: 'hash', value: hash } } as const
    for (const request of [byId, byHash]) {
      assert.deepEqual((await client.getApiKey(request, as('management'))).apiKey, made.apiKey)
    }
    assert.deepEqual((await client.getApiKey(byId, as('workspace', keyId))).apiKey, made.apiKey)
    const reasonOf = async (call: Promise<unknown>) => (await refusalOf(call)).reason
    assert.equal(await reasonOf(client.getApiKey(byId, as('workspace', 'key_2'))), 'MANAGEMENT_KEY_REQUIRED')
    assert.equal(await reasonOf(client.getApiKey(byHash, as('workspace', keyId))), 'MANAGEMENT_KEY_REQUIRED')
    const missing = [
      { key: { case: 'hash', value: 'f'.repeat(64) } },
      { key: { case: 'keyId', value: 'key_0' } },
    ] as const
    for (const request of missing) {
      assert.equal(await reasonOf(client.getApiKey(request, as('management'))), 'API_KEY_NOT_FOUND')
    }
    assert.equal(await reasonOf(client.getApiKey({}, as('management'))), 'REQUEST_INVALID')
  })

  test(`terms out of bounds are refused, and only the operator may limit a workspace (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const { keyId } = await identity.create({ terms: { limitNanos: 9_000_000_000_000_000_000n } })
    for (const [field, bad] of [
      ['terms.limit_nanos', { limitNanos: -1n }],
      ['terms.limit_nanos', { limitNanos: 9_000_000_001_000_000_000n }],
      ['terms.requests_per_minute', { requestsPerMinute: 0 }],
      ['terms.tokens_per_minute', { tokensPerMinute: 0n }],
      ['terms.concurrent_requests', { concurrentRequests: 0 }],
      ['terms.allowed_models', { allowedModels: Array<string>(1_025).fill('a') }],
      ['terms.allowed_models[1]', { allowedModels: ['a', ''] }],
      ['terms.limit_reset', { limitReset: 9 as KeyTerms_Reset }],
    ] as const) {
      const wrong = create(KeyTermsSchema, bad as MessageInitShape<typeof KeyTermsSchema>)
      const created = await refusalOf(identity.create({ terms: wrong }))
      assert.deepEqual([created.reason, created.metadata.field], ['REQUEST_INVALID', field])
      const path = field.replace(/\[\d+\]/, '')
      const changed = client.updateApiKey({ keyId, terms: wrong, updateMask: { paths: [path] } }, as('management'))
      assert.equal((await refusalOf(changed)).metadata.field, field)
    }
    for (const paths of [[], ['kind'], ['terms.workspace_limit_nanos'], ['terms']]) {
      const changed = client.updateApiKey({ keyId, updateMask: { paths } }, as('management'))
      assert.equal((await refusalOf(changed)).metadata.field, 'update_mask', paths.join())
    }
    const limited = client.setWorkspaceLimit({ limitNanos: 1n }, as('management'))
    assert.equal((await refusalOf(limited)).reason, 'OPERATOR_REQUIRED')
    const negative = client.setWorkspaceLimit({ limitNanos: -1n }, as('local-operator'))
    assert.equal((await refusalOf(negative)).metadata.field, 'limit_nanos')
  })
})
