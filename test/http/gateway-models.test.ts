import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import OpenAI from 'openai'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { anthropicClient, openAiClient, openRouterClient } from '#test/support/vendor-clients.ts'

const CONFIG = {
  providers: [
    {
      ...{ id: 'mine', protocol: 'openai', baseURL: 'http://127.0.0.1:9/v1', quantization: 'fp8', zdr: true },
      models: [
        {
          ...{ id: 'big', name: 'Big', description: 'A big one', contextLength: 200_000, maxOutputTokens: 8_000 },
          ...{ pricing: { input: 2.5, output: '10', cacheRead: '0.25' }, inputModalities: ['text', 'image'] },
        },
        { id: 'org/small', zdr: false, distillable: true },
      ],
    },
    { id: 'anthropic', protocol: 'anthropic', baseURL: 'http://127.0.0.1:9', models: [{ id: 'claude-opus-4-5' }] },
  ],
}

async function openWithModels(folder: string): Promise<Portico> {
  const path = join(folder, 'portico.json')
  await writeFile(path, JSON.stringify(CONFIG))
  return openPortico({ PORTICO_CONFIG: path })
}

const idsOf = async (list: Promise<AsyncIterable<{ result: { data: readonly { id: string }[] } }>>) => {
  const ids: string[] = []
  for await (const { result } of await list) ids.push(...result.data.map(({ id }) => id))
  return ids
}

const ECHO = ['portico/echo', 'portico/echo-small']

test('models are listed, filtered, sorted and counted, page by page, through the SDK', async () => {
  using folder = scratchDirectory()
  await using portico = await openWithModels(folder.path)
  const { models } = openRouterClient(portico)
  const all = ['mine/big', 'mine/org/small', 'anthropic/claude-opus-4-5', ...ECHO]
  assert.deepEqual(await idsOf(models.list()), all)
  assert.deepEqual(await idsOf(models.list({ limit: 1 })), all)
  assert.deepEqual(await idsOf(models.list({ offset: 1, limit: 2 })), all.slice(1))
  assert.deepEqual(await idsOf(models.list({ q: 'CLAUDE' })), ['anthropic/claude-opus-4-5'])
  assert.deepEqual(await idsOf(models.list({ supportedParameters: 'seed,top_a' })), ECHO)
  assert.deepEqual(await idsOf(models.list({ inputModalities: 'image', providers: 'mine' })), all.slice(0, 2))
  assert.deepEqual(await idsOf(models.list({ maxPrice: 3 })), ['mine/big', ...ECHO])
  assert.deepEqual(await idsOf(models.list({ context: 200_001 })), ['portico/echo'])
  assert.deepEqual(await idsOf(models.list({ zdr: 'true' })), ['mine/big', ...ECHO])
  assert.deepEqual(await idsOf(models.list({ distillable: 'true' })), ['mine/org/small', ...ECHO])
  assert.deepEqual(await idsOf(models.list({ distillable: 'false' })), ['mine/big', 'anthropic/claude-opus-4-5'])
  assert.deepEqual(await idsOf(models.list({ sort: 'pricing-low-to-high' })), [
    ...[...ECHO, 'mine/big', 'anthropic/claude-opus-4-5', 'mine/org/small'],
  ])
  assert.equal((await models.count()).data.count, 5)
  const ids: string[] = []
  const openai = new OpenAI({ apiKey: PORTICO_KEYS.api, baseURL: `${portico.url}/v1` })
  for await (const { id } of openai.models.list()) ids.push(id)
  assert.deepEqual(ids, all)
})

test('a model shows its known properties; an unknown price is never 0, and a bundled list fills gaps', async () => {
  using folder = scratchDirectory()
  await using portico = await openWithModels(folder.path)
  const { models, endpoints, providers } = openRouterClient(portico)
  const { data: big } = await models.get({ author: 'mine', slug: 'big' })
  assert.deepEqual(
    [big.name, big.description, big.contextLength, big.topProvider.maxCompletionTokens],
    ['Big', 'A big one', 200_000, 8_000],
  )
  assert.equal(big.architecture.modality, 'text+image->text')
  assert.deepEqual([big.pricing.prompt, big.pricing.completion], ['0.0000025', '0.00001'])
  assert.deepEqual([big.pricing.inputCacheRead, big.pricing.inputCacheWrite], ['0.00000025', '0.0000025'])
  const { data: small } = await models.get({ author: 'mine', slug: 'org/small' })
  assert.deepEqual([small.pricing.prompt, small.pricing.completion, small.contextLength], ['-1', '-1', null])
  const { data: claude } = await models.get({ author: 'anthropic', slug: 'claude-opus-4-5' })
  assert.deepEqual([claude.pricing.prompt, claude.pricing.inputCacheWrite], ['0.000005', '0.00000625'])
  assert.equal(claude.contextLength, 200_000)
  assert.equal(claude.supportedParameters.includes('seed'), false)
  const { data: echo } = await models.get({ author: 'portico', slug: 'echo' })
  assert.equal(echo.pricing.prompt, '0')

  const { data: served } = await endpoints.list({ author: 'mine', slug: 'org/small' })
  const [endpoint] = served.endpoints
  assert.deepEqual([served.id, endpoint?.tag, endpoint?.quantization], ['mine/org/small', 'mine', 'fp8'])
  await assert.rejects(models.get({ author: 'mine', slug: 'none' }), { statusCode: 404 })
  await assert.rejects(endpoints.list({ author: 'none', slug: 'big' }), { statusCode: 404 })
  const list = await providers.list()
  assert.deepEqual(
    list.data.map(({ slug }) => slug),
    ['mine', 'anthropic', 'portico'],
  )
})

test('a model is retrieved where clients of OpenAI and Anthropic look for it', async () => {
  using folder = scratchDirectory()
  await using portico = await openWithModels(folder.path)
  const apiKey = PORTICO_KEYS.api
  const [openai, anthropic] = [openAiClient(portico), anthropicClient(portico)]
  for (const id of ['mine/big', 'mine/org/small']) {
    const { object, owned_by: owner } = await openai.models.retrieve(id)
    assert.deepEqual([object, owner, (await openai.models.retrieve(id)).id], ['model', 'mine', id])
    const model = await anthropic.models.retrieve(id)
    assert.deepEqual([model.id, model.type, model.display_name], [id, 'model', id === 'mine/big' ? 'Big' : 'org/small'])
  }
  const headers = { authorization: `Bearer ${apiKey}` }
  const plain = await portico.fetch('/api/v1/models/mine/big', { headers })
  const { data } = (await plain.json()) as { data: object }
  const same = await portico.fetch('/api/v1/model/mine/big', { headers })
  assert.deepEqual({ data }, await same.json())
  await assert.rejects(openai.models.retrieve('mine/none'), { status: 404 })
  for (const path of ['models/mine%2Fnone', 'models/mine/none', 'model/mine/none', 'models/mine/none/endpoints']) {
    const none = await portico.fetch(`/api/v1/${path}`, { headers })
    const message = 'Resource not found: The model "mine/none" is not listed'
    assert.deepEqual(await none.json(), { error: { code: 404, message } })
  }
  for await (const { id } of anthropic.models.list()) assert.equal(typeof id, 'string')
})

test('a key sees which models it may use', async () => {
  using folder = scratchDirectory()
  await using portico = await openWithModels(folder.path)
  const { identity, operator } = portico
  const terms = { allowedModels: ['mine/*', 'echo'] }
  const { secret } = await identity.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'a', terms }, operator)
  const listFor = (bearer: string) => idsOf(openRouterClient(portico).models.listForUser({ bearer }))
  assert.deepEqual(await listFor(secret), ['mine/big', 'mine/org/small', 'portico/echo'])
  assert.equal((await listFor(PORTICO_KEYS.api)).length, 5)
})
