import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import * as errors from '@openrouter/sdk/models/errors'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'
import { openRouterClient } from '#test/support/vendor-clients.ts'

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

const manager = (portico: Portico) => openRouterClient(portico, PORTICO_KEYS.management).apiKeys

/** Calls the free model. */
async function spend(portico: Portico, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'portico/echo', messages: [{ role: 'user', content: 'Hi' }] })
  const answer = await portico.fetch('/api/v1/chat/completions', { method: 'POST', headers, body })
  await answer.arrayBuffer()
  return answer.status
}

test('a key is created, used, changed, disabled and deleted by its hash, through the SDK', async () => {
  await using portico = await openPortico()
  const keys = manager(portico)
  const expiresAt = new Date(Date.now() + 86_400_000)
  const settings = { name: 'näme ☂', limit: 12.345678901, limitReset: 'weekly', expiresAt } as const
  const made = await keys.create({ requestBody: { ...settings, includeByokInLimit: true } })
  const { hash } = made.data
  assert.match(made.key, /^sk-portico-\w{40}$/)
  assert.equal(hash, hashOf(made.key))
  assert.deepEqual(
    [made.data.limit, made.data.limitRemaining, made.data.limitReset, made.data.expiresAt, made.data.name],
    [12.345678901, 12.345678901, 'weekly', expiresAt, 'näme ☂'],
  )
  assert.equal(made.data.includeByokInLimit, true)
  assert.equal(made.data.updatedAt, null)
  assert.match(made.data.creatorUserId ?? '', /^key_/)
  assert.equal(await spend(portico, made.key), 200)
  assert.deepEqual((await keys.get({ hash })).data, made.data)

  const changed = await keys.update({ hash, requestBody: { name: 'other', limit: null, disabled: true } })
  assert.deepEqual([changed.data.name, changed.data.limit, changed.data.limitReset], ['other', null, 'weekly'])
  assert.equal(changed.data.limitRemaining, null)
  assert.notEqual(changed.data.updatedAt, null)
  assert.equal(await spend(portico, made.key), 401)
  const listed = async (request: object) => (await keys.list(request)).data.map((key) => key.hash)
  assert.deepEqual(await listed({}), [hashOf(PORTICO_KEYS.api)])
  assert.deepEqual(await listed({ includeDisabled: true }), [hashOf(PORTICO_KEYS.api), hash])
  assert.deepEqual(await listed({ includeDisabled: true, offset: 1 }), [hash])
  await keys.update({ hash, requestBody: { disabled: false } })
  assert.equal(await spend(portico, made.key), 200)

  assert.deepEqual(await keys.delete({ hash }), { deleted: true })
  assert.equal(await spend(portico, made.key), 401)
  await assert.rejects(keys.get({ hash }), errors.NotFoundResponseError)
  await assert.rejects(keys.delete({ hash }), errors.NotFoundResponseError)
})

test('only management keys manage keys, and they cannot be managed themselves', async () => {
  await using portico = await openPortico()
  const { apiKeys } = openRouterClient(portico, PORTICO_KEYS.api)
  const forbidden = { statusCode: 403, message: 'Only management keys can perform this operation' }
  await assert.rejects(apiKeys.create({ requestBody: { name: 'a' } }), forbidden)
  await assert.rejects(apiKeys.list(), { statusCode: 403 })
  const keys = manager(portico)
  const hash = hashOf(PORTICO_KEYS.management)
  await assert.rejects(keys.get({ hash }), { statusCode: 404 })
  await assert.rejects(keys.delete({ hash }), { statusCode: 404 })
  await assert.rejects(keys.list({ workspaceId: 'wrk_other' }), { statusCode: 404 })
  const { data } = await manager(portico).list()
  assert.deepEqual((await keys.list({ workspaceId: data[0]?.workspaceId ?? '' })).data, data)
})

test('a workspace is shown as the same UUID everywhere, and the operator’s name of it is accepted as well', async () => {
  await using portico = await openPortico()
  const send = async (path: string, key: string, body?: object): Promise<Json> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const request = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    const answer = await portico.fetch(`/api/v1${path}`, request)
    const json = (await answer.json()) as Json
    assert.ok(answer.ok, JSON.stringify(json))
    return json
  }
  const manage = (path: string, body?: object) => send(path, PORTICO_KEYS.management, body)
  const { data: preset } = await manage('/presets/a/responses', {})
  const workspace = preset.workspace_id as string
  assert.match(workspace, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const { id } = await send('/chat/completions', PORTICO_KEYS.api, {
    ...{ model: 'portico/echo', messages: [{ role: 'user', content: 'Hi' }] },
  })
  const shown = [
    (await send('/key', PORTICO_KEYS.api)).data,
    (await send(`/generation?id=${id}`, PORTICO_KEYS.api)).data,
    ...(await manage('/keys')).data,
  ]
  const { apiKeys } = await portico.identity.listApiKeys({}, portico.operator)
  const named = apiKeys[0]?.workspaceId ?? assert.fail()
  assert.match(named, /^wrk_/)
  for (const name of [workspace, workspace.toUpperCase(), named]) {
    shown.push((await manage('/keys', { name: 'a', workspace_id: name })).data)
    shown.push(...(await manage(`/keys?workspace_id=${name}`)).data)
  }
  assert.deepEqual([...new Set(shown.map(({ workspace_id }) => workspace_id))], [workspace])
})

test('the audit log shows a key and its changes by the names of the API', async () => {
  await using portico = await openPortico()
  const expiresAt = new Date(Date.now() + 86_400_000)
  const { data: made } = await manager(portico).create({ requestBody: { name: 'a', limit: 0.5, expiresAt } })
  const headers = { authorization: `Bearer ${PORTICO_KEYS.management}` }
  const path = `/api/v1/organizations/${portico.organizationId}/audit?limit=1`
  const [entry] = ((await (await portico.fetch(path, { headers })).json()) as Json).data
  assert.deepEqual(entry.after, {
    ...{ name: 'a', kind: 'workspace', disabled: false, workspace_id: made.workspaceId },
    ...{ limit: 0.5, expires_at: expiresAt.toISOString() },
  })
  const listed = ((await (await portico.fetch('/api/v1/keys', { headers })).json()) as Json).data
  assert.ok(listed.some(({ key_id }: Json) => key_id === entry.resource_id))
})

test('a key can read itself and its limits', async () => {
  await using portico = await openPortico()
  const body = { name: 'a', limit: 0.5, limit_reset: 'daily', requests_per_minute: 7, allowed_models: ['portico/*'] }
  const made = await portico.fetch('/api/v1/keys', {
    method: 'POST',
    headers: { authorization: `Bearer ${PORTICO_KEYS.management}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, tokens_per_minute: 1e12, concurrent_requests: 3 }),
  })
  assert.equal(made.status, 201)
  const { key } = (await made.json()) as { key: string }
  const { data } = await openRouterClient(portico, key).apiKeys.getCurrentKeyMetadata()
  assert.deepEqual(
    [data.limit, data.limitRemaining, data.limitReset, data.usage, data.isManagementKey, data.rateLimit.requests],
    [0.5, 0.5, 'daily', 0, false, 7],
  )
  assert.equal(data.organizationId, portico.organizationId)
  const headers = { authorization: `Bearer ${key}` }
  const shown = (await (await portico.fetch('/api/v1/key', { headers })).json()) as { data: Record<string, unknown> }
  assert.deepEqual(
    [shown.data.allowed_models, shown.data.tokens_per_minute, shown.data.concurrent_requests],
    [['portico/*'], 1e12, 3],
  )
  const own = await manager(portico).getCurrentKeyMetadata()
  assert.deepEqual([own.data.isManagementKey, own.data.isProvisioningKey, own.data.limit], [true, true, null])
})

test('accepts every setting of a key that OpenRouter’s client knows; those without meaning here change nothing', async () => {
  await using portico = await openPortico()
  const keys = manager(portico)
  const limits = { limit: 1, limitReset: 'daily', includeByokInLimit: false } as const
  const external = { user: 'u', apiKey: 'x'.repeat(32) }
  const workspaceId = (await keys.list()).data[0]?.workspaceId ?? assert.fail()
  const more = { creatorUserId: 'user_1', expiresAt: new Date(Date.now() + 86_400_000), external, workspaceId }
  const { data, key } = await keys.create({ requestBody: { name: 'a', ...limits, ...more } })
  assert.match(key, /^sk-portico-/)
  assert.match(data.creatorUserId ?? '', /^key_/)
  assert.equal(data.externalUser, null)
  const changed = await keys.update({ hash: data.hash, requestBody: { name: 'b', disabled: true, ...limits } })
  assert.deepEqual([changed.data.name, changed.data.disabled, changed.data.limit], ['b', true, 1])
})

test('refuses invalid settings of a key by their member', async () => {
  await using portico = await openPortico()
  const send = async (method: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${PORTICO_KEYS.management}`, 'content-type': 'application/json' }
    const answer = await portico.fetch(`/api/v1/keys${path}`, { method, headers, body: JSON.stringify(body) })
    const { error } = (await answer.json()) as { error: { code: number; message: string } }
    return [answer.status, error.code, error.message.replace('Invalid request parameters: ', '')]
  }
  const path = `/${hashOf(PORTICO_KEYS.api)}`
  for (const [body, message] of [
    [{ name: '' }, /^name: must not be empty/],
    [{ name: 'a', limit: -1 }, /^limit: must be at least 0$/],
    [{ name: 'a', limit: 9_000_000_001 }, /^limit: must be at most 9000000000$/],
    [{ name: 'a', limit_reset: 'yearly' }, /^limit_reset: must be/],
    [{ name: 'a', expires_at: '2020-01-01T00:00:00Z' }, /^expires_at: must be in the future/],
    [{ name: 'a', requests_per_minute: 0 }, /^requests_per_minute: must be at least 1/],
    [{ name: 'a', allowed_models: ['a', ''] }, /^allowed_models\.1: /],
    [{ name: 'a', limt: 5 }, /^the body has the unknown member "limt"$/],
  ] as const) {
    for (const [method, at] of [
      ['POST', ''],
      ['PATCH', path],
    ] as const) {
      const [status, code, shown] = await send(method, at, body)
      assert.deepEqual([status, code], [400, 400], JSON.stringify(body))
      assert.match(String(shown), message)
    }
  }
  assert.deepEqual(await send('PATCH', path, {}), [400, 400, 'the body must name the fields to change'])
})
