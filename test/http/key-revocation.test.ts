// Disabling or deleting a key counts on the next request everywhere; what is in progress goes on.
import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { OPERATIONS, V1_OPERATIONS } from '#gateway/app/operations.ts'
import { secondPath } from '#gateway/family.ts'
import type { Operation } from '#gateway/operation.ts'
import { systemClock } from '#shared/clock.ts'
import { chunksOf } from '#test/support/chat.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { startStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'
import { grantAt, openBeside } from '#test/support/signing.ts'
import { waitUntil } from '#test/support/wait-until.ts'
import { addWorkspaceKeys } from '#test/support/workspace-keys.ts'

/** Every place of every operation that a credential of this kind may call. */
function placesOf(credential: Operation['credentials'][number]) {
  return [...V1_OPERATIONS, ...OPERATIONS]
    .filter(({ credentials }) => credentials.includes(credential))
    .flatMap(({ method, path }) => [path, secondPath(path)].flatMap((at) => (at ? [{ method, path: at }] : [])))
    .map(({ method, path }) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, 'x') }))
}

let callers = 0

/** Where a credential is not accepted, each time from another address, since nobody may send many wrong ones. */
async function refusing(portico: Portico, secret: string, places: ReturnType<typeof placesOf>): Promise<string[]> {
  const refused = await Promise.all(
    places.map(async ({ method, path }) => {
      const address = `10.0.${callers >> 8}.${callers++ & 255}`
      const headers = { authorization: `Bearer ${secret}`, 'x-forwarded-for': address }
      const answer = await portico.fetch(path, { method, headers })
      await answer.body?.cancel()
      return answer.status === 401 ? [`${method} ${path}`] : []
    }),
  )
  return refused.flat()
}

async function manage(portico: Portico, method: string, path: string, body?: object): Promise<Json> {
  const headers = { authorization: `Bearer ${PORTICO_KEYS.management}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await portico.fetch(`/api/v1/keys${path}`, { method, headers, ...sent })
  assert.ok(answer.ok, String(answer.status))
  return (await answer.json()) as Json
}

test('from the answer to a change on, a key and its access tokens are refused, or accepted again, by every route', async () => {
  await using portico = await openPortico({ PORTICO_AUTH: 'bearer', PORTICO_TRUSTED_PROXIES: '127.0.0.1' })
  const { key, data } = await manage(portico, 'POST', '', { name: 'a' })
  const { apiKeys } = await portico.identity.listApiKeys({}, portico.operator)
  const { workspaceId = '' } = apiKeys.find(({ keyId }) => keyId === data.key_id) ?? {}
  await using beside = await openBeside(join(dirname(portico.project), 'data'), systemClock)
  const target = { workspaceId, keyId: data.key_id as string }
  const minted = await beside.tokens.mint(grantAt(systemClock.now(), { target }))
  const shown = [
    { secret: key as string, places: placesOf('workspace') },
    { secret: minted?.token ?? assert.fail(), places: placesOf('access-token') },
  ]
  const all = shown.map(({ places }) => places.map(({ method, path }) => `${method} ${path}`))
  assert.ok(all.every(({ length }) => length > 20))
  const refused = () => Promise.all(shown.map(({ secret, places }) => refusing(portico, secret, places)))
  const none = [[], []]
  assert.deepEqual(await refused(), none)
  for (const disabled of [true, false, true, false]) {
    await manage(portico, 'PATCH', `/${data.hash}`, { disabled })
    assert.deepEqual(await refused(), disabled ? all : none)
  }
  await manage(portico, 'DELETE', `/${data.hash}`)
  assert.deepEqual(await refused(), all)
})

test('a stream in progress comes to its end, and is counted, though its key is deleted', async () => {
  const deleted = Promise.withResolvers<void>()
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  await using stub = await startStub(async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'Hel' }))
    await deleted.promise
    response.end(`${chunk({ content: 'lo' })}${chunk({}, 'stop')}data: [DONE]\n\n`)
  })
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
  const { key, data } = await manage(portico, 'POST', '', { name: 'a', limit: 1 })
  const body = JSON.stringify({ model: 'openai/gpt-5.5', messages: [{ role: 'user', content: 'Hi' }], stream: true })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const ask = () => portico.fetch('/api/v1/chat/completions', { method: 'POST', headers, body })
  const answer = await ask()
  await manage(portico, 'DELETE', `/${data.hash}`)
  assert.equal((await ask()).status, 401)
  deleted.resolve()
  const chunks = chunksOf(await answer.text())
  assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Hello')
  const id = answer.headers.get('x-generation-id')
  const other = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  const row = (await (await portico.fetch(`/api/v1/generation?id=${id}`, { headers: other })).json()) as Json
  assert.deepEqual([row.data.status, row.data.api_key_id, stub.seen.length], ['completed', data.key_id, 1])
})

test('a run of a session spends nothing more once its key is disabled', async () => {
  const roots = JSON.stringify({ wrk_one: [realpathSync(tmpdir())] })
  await using portico = await openPortico({ PORTICO_AUTH: 'bearer', PORTICO_PROJECT_ROOTS: roots })
  const secrets = { one: 'sk-portico-the-first-of-wrk-one', two: 'sk-portico-the-second-of-wrk-one' }
  using database = addWorkspaceKeys(
    portico,
    Object.entries(secrets).map(([name, secret]) => ({ workspace: 'wrk_one', id: `key_${name}`, secret })),
  )
  const call = async (secret: string, path: string, body?: object): Promise<Json> => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const answer = await portico.fetch(path, { headers, ...sent })
    assert.ok(answer.ok, `${path}: ${answer.status}`)
    const text = await answer.text()
    return text === '' ? {} : (JSON.parse(text) as Json)
  }
  const permissions = [{ action: 'edit', resource: '*', effect: 'ask' }]
  const location = { directory: portico.project }
  await call(secrets.one, '/api/session', { id: 'ses_one', location, permissions })
  const text = '/tool write {"path":"out.txt","content":"hello"}'
  await call(secrets.one, '/api/session/ses_one/prompt', { text })
  const [{ id }] = await waitUntil('a permission request', async () => {
    const { data } = await call(secrets.two, '/api/session/ses_one/permission')
    return data.length > 0 ? data : undefined
  })
  database.exec("UPDATE api_keys SET disabled = 1 WHERE keyId = 'key_one'")
  await call(secrets.two, `/api/session/ses_one/permission/${id}/reply`, { reply: 'once' })
  await call(secrets.two, '/api/experimental/session/ses_one/wait', {})
  const { data } = await call(secrets.two, '/api/session/ses_one/message?order=asc')
  const { type, outcome, error } = data.at(-1)
  assert.deepEqual([type, outcome, error.type], ['idle', 'failed', 'credential.refused'])
})
