import assert from 'node:assert/strict'
import test from 'node:test'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { call, DIALECTS } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { created } from '#test/support/presets.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, fixture, startStub } from '#test/support/provider-stub.ts'

const PATHS = Object.keys(DIALECTS).map((dialect) => `/api/v1/${dialect}`)

async function ask(portico: Portico, path: string, body: object, key = PORTICO_KEYS.api) {
  const whole = { model: 'portico/echo', ...DIALECTS[path.slice('/api/v1/'.length)], ...body }
  const headers = { 'x-openrouter-metadata': 'enabled' }
  const { status, json } = await call(portico, 'POST', path, whole, { key, headers })
  const message = json.error?.message as string | undefined
  return { status, message, metadata: JSON.stringify(json.openrouter_metadata) }
}

test('the first of `models` is used where no model is named, in every dialect', async () => {
  await using portico = await openPortico()
  for (const path of PATHS) {
    const { status, metadata } = await ask(portico, path, { model: null, models: ['portico/echo', 'a/b'] })
    assert.deepEqual([status, /"requested":"([^"]*)"/.exec(metadata)?.[1]], [200, 'portico/echo'], path)
  }
})

test('a key uses only the models that its terms allow, under any name, from the next request on', async () => {
  await using portico = await openPortico()
  const { identity, operator } = portico
  const terms = { allowedModels: ['openai/*'] }
  const { apiKey, secret } = await identity.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'a', terms }, operator)
  for (const path of PATHS) {
    for (const model of ['portico/echo', 'echo', 'portico/echo:free']) {
      const { status, message } = await ask(portico, path, { model }, secret)
      assert.deepEqual([status, message], [403, 'The key may not use the model "portico/echo"'], `${path} ${model}`)
    }
  }
  const changes = { keyId: apiKey?.keyId ?? '', terms: { allowedModels: ['portico/e*'] } }
  await identity.updateApiKey({ ...changes, updateMask: { paths: ['terms.allowed_models'] } }, operator)
  for (const path of PATHS) assert.equal((await ask(portico, path, {}, secret)).status, 200, path)
})

test('demands that the only endpoint does not meet are 404; a request with other demands is served', async () => {
  await using portico = await openPortico()
  for (const path of PATHS) {
    for (const [provider, demand] of [
      [{ only: ['openai'] }, 'only'],
      [{ ignore: ['portico'] }, 'ignore'],
      [{ quantizations: ['fp8'] }, 'quantizations'],
    ] as const) {
      const { status, message } = await ask(portico, path, { provider })
      const text = `Resource not found: No endpoint of "portico/echo" meets the demands of the request: ${demand}`
      assert.deepEqual([status, message], [404, text], path)
    }
    const met = { only: ['portico'], zdr: true, data_collection: 'deny', max_price: { prompt: 0, completion: '0' } }
    assert.equal((await ask(portico, path, { provider: { ...met, require_parameters: true } })).status, 200, path)
  }
})

test('the routing object is closed, and the one of a request replaces that of its preset as a whole', async () => {
  await using portico = await openPortico()
  const known = {
    ...{ order: ['a'], only: null, ignore: ['b'], allow_fallbacks: false, require_parameters: null, zdr: false },
    ...{ data_collection: 'allow', enforce_distillable_text: null, quantizations: null },
    ...{ sort: { by: 'latency', partition: 'none' }, max_price: { prompt: '1.5', completion: 2, request: 0 } },
    ...{ preferred_max_latency: 3, preferred_min_throughput: { p50: 10, p99: null } },
  }
  const refused: readonly (readonly [object, string])[] = [
    [{ mine: 1 }, ': has the unknown member "mine"'],
    [{ only: 'a' }, '.only'],
    [{ order: [''] }, '.order.0'],
    [{ data_collection: 'maybe' }, '.data_collection'],
    [{ quantizations: ['int3'] }, '.quantizations.0'],
    [{ sort: { by: 'beauty' } }, '.sort.by'],
    [{ sort: { by: 'price', partition: 'all' } }, '.sort.partition'],
    [{ max_price: { prompt: '1e3' } }, '.max_price.prompt'],
    [{ max_price: { audio: -1 } }, '.max_price.audio'],
    [{ max_price: { video: 1 } }, '.max_price: has the unknown member "video"'],
    [{ preferred_max_latency: 'fast' }, '.preferred_max_latency'],
  ]
  for (const dialect of Object.keys(DIALECTS)) {
    const path = `/api/v1/${dialect}`
    assert.equal((await ask(portico, path, { provider: known })).status, 200, path)
    for (const [provider, field] of refused) {
      const { status, message } = await ask(portico, path, { provider })
      assert.equal(status, 400, JSON.stringify(provider))
      assert.ok(message?.startsWith(`Invalid request parameters: provider${field}`), message)
    }
    await created(portico, 'closed', dialect, { model: 'portico/echo', provider: { only: ['nobody'], zdr: true } })
    const preset = { model: '@preset/closed' }
    assert.equal((await ask(portico, path, preset)).status, 404, path)
    assert.equal((await ask(portico, path, { ...preset, provider: { zdr: true } })).status, 200, path)
  }
})

test('variants of models are ignored and named', async () => {
  await using portico = await openPortico()
  const variants = ['nitro', 'floor', 'free', 'online', 'thinking', 'extended', 'exacto']
  for (const path of PATHS) {
    for (const variant of variants) {
      const { status, metadata } = await ask(portico, path, { model: `portico/echo:${variant}` })
      assert.equal(status, 200, path)
      assert.ok(metadata?.includes(`The variant \\"${variant}\\" was not applied`), metadata)
    }
  }
})

test('every endpoint of a model is counted, even if a filter leaves one out or it fails', async () => {
  await using broken = await startStub(answers(400, {}))
  await using other = await startStub(answers(200, fixture('openai-text.json')))
  const models = [{ id: 'gpt' }]
  const provider = { protocol: 'openai', apiKey: 'sk-upstream', models }
  const config = providerConfig([
    { ...provider, id: 'broken', baseURL: `${broken.url}/v1` },
    { ...provider, id: 'other', baseURL: `${other.url}/v1` },
  ])
  await using portico = await openPortico({ PORTICO_CONFIG: config })
  for (const path of PATHS) {
    for (const ignore of [[], ['broken']]) {
      const { metadata } = await ask(portico, path, { model: 'gpt', provider: { ignore } })
      const selected = { provider: ignore.length === 0 ? 'broken' : 'other', selected: true }
      const model = `${selected.provider}/gpt`
      assert.deepEqual(JSON.parse(metadata).endpoints, { total: 2, available: [{ ...selected, model }] }, path)
    }
  }
})
