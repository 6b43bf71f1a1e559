import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callOptions } from '#shared/rpc/call-context.ts'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`pages hold the workspace's keys, oldest first, without a gap or a repetition (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as, create } = identity
    const made: string[] = []
    for (let index = 0; index < 6; index += 1) made.push((await create({ name: `key ${index}` })).keyId)
    const seen: string[] = []
    const sizes: number[] = []
    let pageToken: string | undefined
    do {
      const page = await client.listApiKeys({ pageSize: 3, pageToken }, as('management'))
      seen.push(...page.apiKeys.map((key) => key.keyId))
      sizes.push(page.apiKeys.length)
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    // The first one was chosen by the operator.
    assert.deepEqual(seen.slice(1), made)
    assert.deepEqual(sizes, [3, 3, 1])
  })

  test(`a page has 50 keys by default, and at most 100 (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as, create } = identity
    await Promise.all(Array.from({ length: 100 }, () => create()))
    const sizeOf = async (pageSize?: number) =>
      (await client.listApiKeys({ pageSize }, as('management'))).apiKeys.length
    assert.deepEqual([await sizeOf(), await sizeOf(99), await sizeOf(1000)], [50, 99, 100])
    for (const pageSize of [0, -1]) {
      const { reason, metadata } = await refusalOf(client.listApiKeys({ pageSize }, as('management')))
      assert.equal(reason, 'REQUEST_INVALID')
      assert.deepEqual(metadata, { field: 'page_size', problem: 'must be at least 1' })
    }
  })

  test(`a page token of another workspace, or of nobody, is refused (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as, organizationId, create } = identity
    await create()
    const { nextPageToken } = await client.listApiKeys({ pageSize: 1 }, as('management'))
    const principal = { organizationId, workspaceId: 'wrk_other', apiKeyId: '', kind: 'management' } as const
    const refusal = {
      code: 'InvalidArgument',
      domain: 'identity',
      reason: 'INVALID_CURSOR',
      metadata: {},
      message: 'The page token does not belong to this list',
    }
    const other = client.listApiKeys({ pageToken: nextPageToken }, callOptions({ principal }))
    assert.deepEqual(await refusalOf(other), refusal)
    assert.deepEqual(await refusalOf(client.listApiKeys({ pageToken: 'x' }, as('management'))), refusal)
    assert.deepEqual((await client.listApiKeys({}, callOptions({ principal }))).apiKeys, [])
  })

  test(`only a management key and the local operator may list keys (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { reason } = await refusalOf(identity.client.listApiKeys({}, identity.as('workspace', 'key_1')))
    assert.equal(reason, 'MANAGEMENT_KEY_REQUIRED')
    assert.equal((await identity.client.listApiKeys({}, identity.as('local-operator'))).apiKeys.length, 2)
  })
})
