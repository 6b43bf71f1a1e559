import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'

const model = {
  request: { headers: {}, body: {} },
  variants: [],
  time: { released: 0 },
  status: 'active',
  enabled: true,
}
const provider = { api: { type: 'native', settings: {} }, request: { headers: {}, body: {} } }

test('lists the configured models and providers of a location, and the built-in ones', async () => {
  await using portico = await openPortico({ OPENAI_API_KEY: 'sk-upstream' })
  const location = { directory: portico.project }
  const models = await portico.fetch('/api/model')
  assert.equal(models.status, 200)
  const echo = {
    ...model,
    capabilities: { tools: true, input: ['text', 'image', 'file', 'audio', 'video'], output: ['text'] },
    id: 'echo',
    providerID: 'portico',
    name: 'Echo (built in)',
    api: { id: 'echo', type: 'native', settings: {} },
    cost: [{ input: 0, output: 0, cache: { read: 0, write: 0 } }],
    limit: { context: 1_000_000, output: 0 },
  }
  // What the bundled list says about it is not checked here.
  const capabilities = { tools: true, input: ['text', 'image', 'file'], output: ['text'] }
  const unknown = { ...model, capabilities, providerID: 'openai' }
  const listed = (id: string) => ({ ...unknown, id, name: id, api: { id, type: 'native', settings: {} } })
  const { location: at, data } = (await models.json()) as {
    location: unknown
    data: ({ id: string; cost: object[]; limit: object } & Json)[]
  }
  assert.deepEqual(at, location)
  const small = { name: 'Echo with a small context (built in)', limit: { context: 2_000, output: 0 } }
  const api = { ...echo.api, id: 'echo-small' }
  assert.deepEqual(data.slice(-2), [echo, { ...echo, id: 'echo-small', api, ...small }])
  const [first = assert.fail()] = data
  const { cost, limit } = first
  assert.deepEqual(first, { ...listed(first.id), cost, limit })
  assert.equal(cost.length, 1)
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  const { data: ofGateway } = (await (await portico.fetch('/api/v1/models', { headers })).json()) as Json
  const [inputs, outputs] = ['input_modalities', 'output_modalities'].map((member) =>
    Object.fromEntries(ofGateway.map(({ id, architecture }: Json) => [id, architecture[member]])),
  )
  const shown = data.map(({ id, providerID, capabilities: { input, output } }) => [
    `${providerID}/${id}`,
    input,
    output,
  ])
  assert.deepEqual(
    shown,
    shown.map(([name]) => [name, inputs?.[String(name)], outputs?.[String(name)]]),
    'as in /api/v1/models',
  )
  const providers = await portico.fetch('/api/provider')
  assert.equal(providers.status, 200)
  assert.deepEqual(await providers.json(), {
    location,
    data: ['openai', 'portico'].map((id) => ({ ...provider, id, name: id })),
  })
})

test('answers with one provider, and with 404 for an unknown one', async () => {
  await using portico = await openPortico()
  const one = await portico.fetch('/api/provider/portico')
  assert.equal(one.status, 200)
  const location = { directory: portico.project }
  assert.deepEqual(await one.json(), { location, data: { ...provider, id: 'portico', name: 'portico' } })
  const none = await portico.fetch('/api/provider/nobody')
  assert.equal(none.status, 404)
  const message = 'Provider not found: nobody'
  assert.deepEqual(await none.json(), { _tag: 'ProviderNotFoundError', message, providerID: 'nobody' })
})

test('health.get answers when the server takes requests', async () => {
  await using portico = await openPortico()
  const answer = await portico.fetch('/api/health')
  assert.deepEqual([answer.status, await answer.json()], [200, { healthy: true }])
})
