import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openIdentity } from '#test/support/identity.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'
import { hashOf } from '../run/secret.ts'

const { WORKSPACE, PERSONAL, MANAGEMENT, LOCAL_OPERATOR, UNSPECIFIED } = Principal_Kind

forEachTransport((name, connect) => {
  test(`the answer is the record and, this once, the key (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, clock, as, workspaceId } = identity
    for (const [kind, start] of [
      [WORKSPACE, 'sk-portico-'],
      [PERSONAL, 'pk-portico-'],
      [MANAGEMENT, 'mk-portico-'],
    ] as const) {
      const expireTime = timestampFromMs(clock.time + 5000)
      const manager = as(kind === MANAGEMENT ? 'local-operator' : 'management')
      const { apiKey, secret } = await client.createApiKey({ kind, name: 'näme ☂', expireTime }, manager)
      assert.match(secret, new RegExp(`^${start}[0-9A-Za-z]{40}$`))
      assert.match(apiKey?.keyId ?? '', /^key_[0-9A-Za-z]{24}$/)
      const createTime = timestampFromMs(clock.time)
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

  test(`a management key makes none of its kind: those are the operator's (${name})`, async () => {
    await using identity = await openIdentity(connect)
    const { client, as } = identity
    const refusal = await refusalOf(client.createApiKey({ kind: MANAGEMENT, name: 'a key' }, as('management')))
    assert.deepEqual([refusal.code, refusal.reason], ['PermissionDenied', 'OPERATOR_REQUIRED'])
    const { apiKeys } = await client.listApiKeys({}, as('local-operator'))
    assert.ok(!apiKeys.some(({ name }) => name === 'a key'))
  })

  test(`kind, name and expiry are checked (${name})`, async () => {
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
      [{ expireTime: timestampFromMs(clock.time) }, 'expire_time', 'must be in the future'],
      [{ expireTime: timestampFromMs(-1) }, 'expire_time', 'must be in the future'],
    ] as const) {
      const refusal = await refusalOf(client.createApiKey({ ...good, ...change }, as('management')))
      const message = `${field}: ${problem}`
      const expected = { code: 'InvalidArgument', domain: 'identity', reason: 'REQUEST_INVALID' }
      assert.deepEqual(refusal, { ...expected, metadata: { field, problem }, message })
    }
    await client.createApiKey({ ...good, name: '😀'.repeat(256) }, as('management'))
  })
})

test('nothing on the disk contains a key', async () => {
  await using identity = await openIdentity(connectLocal)
  const { secret } = await identity.create()
  for (const file of await readdir(identity.directory)) {
    const content = await readFile(join(identity.directory, file))
    assert.equal(content.includes(secret.slice(15)), false, file)
  }
})
