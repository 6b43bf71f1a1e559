import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { callOptions } from '#shared/rpc/call-context.ts'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'
import { hashOf } from '../run/new-key.ts'

const { WORKSPACE, PERSONAL, MANAGEMENT, LOCAL_OPERATOR, UNSPECIFIED } = Principal_Kind

forEachTransport((name, connect) => {
  test(`creating a key returns its record and, this once, the key itself (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, clock, as, workspaceId } = identity
    for (const [kind, start] of [
      [WORKSPACE, 'sk-portico-'],
      [PERSONAL, 'pk-portico-'],
      [MANAGEMENT, 'mk-portico-'],
    ] as const) {
      const expireTime = clock.time + 5000
      const manager = as(kind === MANAGEMENT ? 'local-operator' : 'management')
      const { apiKey, secret } = await client.createApiKey({ kind, name: 'näme ☂', expireTime }, manager)
      assert.match(secret, new RegExp(`^${start}[0-9A-Za-z]{40}$`))
      assert.match(apiKey?.keyId ?? '', /^key_[0-9A-Za-z]{24}$/)
      const createTime = clock.time
      assert.deepEqual(
        { ...apiKey, keyId: '', terms: undefined },
        {
          $typeName: 'portico.identity.v1.ApiKey',
          ...{ hash: hashOf(secret), terms: undefined, updateTime: createTime },
          ...{ keyId: '', workspaceId, kind, name: 'näme ☂', prefix: secret.slice(0, 15) },
          ...{ disabled: false, createTime, expireTime },
        },
      )
    }
  })

  test(`only a management key and the local operator may make keys (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const request = { kind: WORKSPACE, name: 'a key' }
    for (const kind of ['workspace', 'personal'] as const) {
      assert.deepEqual(await refusalOf(identity.client.createApiKey(request, identity.as(kind, 'key_1'))), {
        code: 'PermissionDenied',
        domain: 'identity',
        reason: 'MANAGEMENT_KEY_REQUIRED',
        metadata: {},
        message: 'Only management keys can perform this operation',
      })
    }
    await identity.client.createApiKey(request, identity.as('local-operator'))
    assert.equal((await refusalOf(identity.client.createApiKey(request))).reason, 'PRINCIPAL_MISSING')
  })

  test(`a management key cannot create management keys, which only the operator may (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const refusal = await refusalOf(client.createApiKey({ kind: MANAGEMENT, name: 'a key' }, as('management')))
    assert.deepEqual([refusal.code, refusal.reason], ['PermissionDenied', 'OPERATOR_REQUIRED'])
    const { apiKeys } = await client.listApiKeys({}, as('local-operator'))
    assert.ok(!apiKeys.some(({ name }) => name === 'a key'))
  })

  test(`creating a key checks its kind, name and expiry (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, clock, as } = identity
    const good = { kind: WORKSPACE, name: 'a key' }
    const kindProblem = 'must be KIND_WORKSPACE, KIND_PERSONAL or KIND_MANAGEMENT'
    for (const [change, field, problem] of [
      [{ kind: UNSPECIFIED }, 'kind', kindProblem],
      [{ kind: LOCAL_OPERATOR }, 'kind', kindProblem],
      [{ kind: 99 as Principal_Kind }, 'kind', kindProblem],
      [{ name: '' }, 'name', 'must not be empty'],
      [{ name: '☂'.repeat(257) }, 'name', 'must have at most 256 characters'],
      [{ expireTime: clock.time }, 'expire_time', 'must be in the future'],
      [{ expireTime: -1 }, 'expire_time', 'must be in the future'],
    ] as const) {
      const refusal = await refusalOf(client.createApiKey({ ...good, ...change }, as('management')))
      const message = `${field}: ${problem}`
      const expected = { code: 'InvalidArgument', domain: 'identity', reason: 'REQUEST_INVALID' }
      assert.deepEqual(refusal, { ...expected, metadata: { field, problem }, message })
    }
    await client.createApiKey({ ...good, name: '😀'.repeat(256) }, as('management'))
  })
})

test('no file on the disk contains a key', async () => {
  await using identity = await openIdentity(connectLocal)
  const { secret } = await identity.create()
  for (const file of await readdir(identity.directory)) {
    const content = await readFile(join(identity.directory, file))
    assert.equal(content.includes(secret.slice(15)), false, file)
  }
})

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

  test(`a page token of another workspace, or one that was never issued, is refused (${name})`, async () => {
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

  test(`only a management key may change keys, and this is checked before the request is (${name})`, async () => {
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

forEachTransport((name, connect) => {
  test(`a deleted key is refused from the next call on, and is neither listed nor found any more (${name})`, async () => {
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

  test(`only a management key and the operator may delete a key, by an id that has the form of one (${name})`, async () => {
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
