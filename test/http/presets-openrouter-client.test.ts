import assert from 'node:assert/strict'
import test from 'node:test'
import type { OpenRouter } from '@openrouter/sdk'
import type { MessagesRequest } from '@openrouter/sdk/models'
import * as errors from '@openrouter/sdk/models/errors'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { send } from '#test/support/presets.ts'
import { openRouterClient } from '#test/support/vendor-clients.ts'

const model = 'portico/echo'

/** Every setting that the specification describes. */
const EVERYTHING: MessagesRequest = {
  model,
  maxTokens: 64,
  messages: [{ role: 'user', content: 'Hi' }],
  system: 'Be brief.',
  cacheControl: { type: 'ephemeral', ttl: '1h' },
  fallbacks: [{ model: 'a/b' }, { model: 'c/d' }, { model: 'e/f' }],
  outputConfig: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
  plugins: [
    {
      id: 'auto-router',
      enabled: true,
      allowedModels: ['a/*'],
      excludedModels: ['a/b'],
      costTier: 'low',
      pinModel: true,
    },
    { id: 'auto-beta-router', allowedModels: ['a/*'], costTier: 'max' },
    { id: 'moderation' },
    { id: 'web', engine: 'native', maxResults: 3, searchPrompt: 'Look.', includeDomains: ['example.com'] },
    { id: 'web-fetch', maxUses: 2, maxContentTokens: 100, allowedDomains: ['example.com'] },
    { id: 'file-parser', pdf: { engine: 'native' } },
    { id: 'response-healing', enabled: false },
    { id: 'context-compression', engine: 'middle-out' },
    { id: 'pareto-router', minCodingScore: 0.5 },
    { id: 'fusion', analysisModels: ['a/b'], model: 'a/b', maxToolCalls: 3 },
    { id: 'switchyard-router', algorithm: 'stage' },
  ],
  provider: { allowFallbacks: false, order: ['a'], zdr: true, maxPrice: { prompt: '1' } },
  sessionId: 'session',
  speed: 'fast',
  stopServerToolsWhen: [
    { type: 'step_count_is', stepCount: 3 },
    { type: 'has_tool_call', toolName: 'look' },
    { type: 'max_tokens_used', maxTokens: 10 },
    { type: 'max_cost', maxCostInDollars: 0.5 },
    { type: 'finish_reason_is', reason: 'length' },
  ],
  trace: { traceId: 't', additionalProperties: { mine: 1 } },
  user: 'end-user',
  thinking: { type: 'enabled', budgetTokens: 1_024 },
  stopSequences: ['END'],
  topK: 5,
  tools: [{ name: 'look', inputSchema: { type: 'object' } }],
  toolChoice: { type: 'auto' },
}

test('presets.createPresetsMessages keeps every setting of the specification, as it is serialised', async () => {
  await using portico = await openPortico()
  const { data } = await openRouterClient(portico, PORTICO_KEYS.management).presets.createPresetsMessages({
    slug: 'all',
    messagesRequest: EVERYTHING,
  })
  const config = data.designatedVersion?.config ?? {}
  const ignored = ['messages', 'session_id', 'stream', 'system', 'trace', 'user']
  assert.deepEqual(
    Object.keys(config).filter((name) => ignored.includes(name)),
    [],
  )
  assert.deepEqual(
    config.plugins.map(({ id }: { id: string }) => id),
    EVERYTHING.plugins?.map(({ id }) => id),
  )
  assert.deepEqual(config.plugins[0], {
    ...{ id: 'auto-router', enabled: true, allowed_models: ['a/*'], excluded_models: ['a/b'] },
    ...{ cost_tier: 'low', pin_model: true },
  })
  assert.deepEqual(config.fallbacks, EVERYTHING.fallbacks)
  assert.deepEqual(config.stop_server_tools_when[3], { type: 'max_cost', max_cost_in_dollars: 0.5 })
  assert.deepEqual([config.max_tokens, config.speed, config.thinking.budget_tokens], [64, 'fast', 1_024])
  assert.equal(data.designatedVersion?.systemPrompt, 'Be brief.')
  // All of its demands except zero data retention can be met; nothing else in it keeps a request from being served.
  const next = { ...EVERYTHING, provider: { allowFallbacks: false } }
  await openRouterClient(portico, PORTICO_KEYS.management).presets.createPresetsMessages({
    slug: 'all',
    messagesRequest: next,
  })
  const { status, json } = await send(portico, '/responses', { model: '@preset/all', input: '/length 2' })
  assert.equal(status, 200, JSON.stringify(json))
})

test('creates presets of responses and chats, and reads them', async () => {
  await using portico = await openPortico()
  const { presets } = openRouterClient(portico, PORTICO_KEYS.management)
  const responsesRequest = { model, input: 'Hi', instructions: 'Be brief.', temperature: 0.5 }
  const first = (await presets.createPresetsResponses({ slug: 'a', responsesRequest })).data
  assert.deepEqual(first.designatedVersion?.config.temperature, 0.5)
  const messages = [
    { role: 'system' as const, content: 'Be long.' },
    { role: 'user' as const, content: 'Hi' },
  ]
  const { data } = await presets.createPresetsChatCompletions({ slug: 'a', chatRequest: { model, messages, seed: 1 } })
  assert.deepEqual([data.id, data.designatedVersion?.version], [first.id, 2])
  assert.deepEqual(data.designatedVersion?.config, { model, seed: 1 })
  assert.equal(data.designatedVersion?.systemPrompt, 'Be long.')
  await presets.createPresetsResponses({ slug: 'b', responsesRequest })

  const reader = openRouterClient(portico).presets
  const slugs: string[] = []
  for await (const page of await reader.list({ limit: 1 })) slugs.push(...page.result.data.map(({ slug }) => slug))
  assert.deepEqual(slugs, ['b', 'a'])
  assert.deepEqual((await reader.get({ slug: 'a' })).data, data)
  const numbers: number[] = []
  for await (const page of await reader.listVersions({ slug: 'a', limit: 1 })) {
    for (const found of page.result.data) numbers.push(found?.version ?? 0)
  }
  assert.deepEqual(numbers, [1, 2])
  assert.deepEqual((await reader.getVersion({ slug: 'a', version: '1' })).data, first.designatedVersion)
})

test('errors are the typed errors of the SDK', async () => {
  await using portico = await openPortico()
  const create = (client: OpenRouter, more: object = {}) =>
    client.presets.createPresetsMessages({
      slug: 'a',
      messagesRequest: { model, maxTokens: 1, messages: [], ...more } as MessagesRequest,
    })
  const forbidden = await create(openRouterClient(portico)).catch((error: unknown) => error)
  assert.ok(forbidden instanceof errors.ForbiddenResponseError)
  assert.equal(forbidden.message, 'Only management keys can perform this operation')
  await assert.rejects(create(openRouterClient(portico, 'mk-wrong')), errors.UnauthorizedResponseError)
  const client = openRouterClient(portico, PORTICO_KEYS.management)
  await assert.rejects(
    create(client, { models: ['a/b'], fallbacks: [{ model: 'c/d' }] }),
    errors.BadRequestResponseError,
  )
  const four = Array.from({ length: 4 }, () => ({ model: 'a/b' }))
  await assert.rejects(create(client, { fallbacks: four }), errors.BadRequestResponseError)
  await assert.rejects(client.presets.get({ slug: 'a' }), errors.NotFoundResponseError)
  await assert.rejects(client.presets.listVersions({ slug: 'a' }), errors.NotFoundResponseError)
  await assert.rejects(client.presets.getVersion({ slug: 'a', version: '1' }), errors.NotFoundResponseError)
})
