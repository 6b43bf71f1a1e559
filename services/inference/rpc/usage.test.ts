import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { KeyTerms_Reset, type KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import { PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { GenerationRecord_Status, UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Config } from '#services/inference/config.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openInference, plain, userMessage } from '#test/support/inference.ts'
import { answers, fixture, type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { type Connect, forEachTransport } from '#test/support/transports.ts'

type Terms = MessageInitShape<typeof KeyTermsSchema>

const principal: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }
const byKey = callOptions({ principal, authenticated: true })
const byOther = callOptions({
  principal: { ...principal, workspaceId: 'wrk_2', apiKeyId: 'key_2' },
  authenticated: true,
})
/** Nano-dollars per million tokens: a token of input costs 1, a token of output 2. */
const pricing = create(PricingSchema, {
  ...{ inputNanos: 1_000_000n, outputNanos: 2_000_000n },
  ...{ cacheReadNanos: 1_000_000n, cacheWriteNanos: 1_000_000n },
})

function served({ url: baseUrl }: ProviderStub): Partial<Config> {
  const models = [
    { id: 'gpt', displayName: 'gpt', pricing },
    { id: 'dark', displayName: 'dark' },
  ]
  const provider = { id: 'p', protocol: 'openai', baseUrl, apiKey: undefined, headers: {}, models } as const
  return { providers: [provider], defaultModel: 'p/gpt' }
}

async function open(connect: Connect, config: Partial<Config> = {}, answer = fixture('openai-text.json')) {
  const stub = await startStub(answers(200, answer))
  // Time stands still, so that no new minute begins between two requests.
  const now = Date.now()
  const clock = { ...systemClock, now: () => now }
  const service = await openInference({ ...served(stub), ...config }, undefined, clock)
  const connection = await connect(service.routes)
  const inference = createClient(InferenceService, connection.transport)
  const usage = createClient(UsageService, connection.transport)
  let requests = 0
  return {
    stub,
    usage,
    ask: (more: object = {}, terms: Terms = {}) => {
      const generation = { requestId: `req_${++requests}`, messages: [userMessage('Hello')], ...more }
      return inference.generate({ generation, terms }, byKey)
    },
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

forEachTransport((name, connect) => {
  test(`${name}: a caller that has its answer finds its row, and its cost in every sum`, async () => {
    await using service = await open(connect)
    const { usage, ask } = service
    const attribution = { referer: 'https://example.com', title: 'Test' }
    const more = { origin: 'chat', user: 'someone', sessionId: 'ses_1', metadata: { team: 'red' }, attribution }
    const cost = (await ask({ ...more, notApplied: ['plugins'] })).generation?.costNanos ?? 0n
    assert.ok(cost > 0n)
    const { generation } = await usage.getGeneration({ requestId: 'req_1' }, byKey)
    const { createTime, finishTime, firstPartMs, usage: used, ...row } = plain(generation) as Record<string, unknown>
    assert.ok(createTime !== undefined && finishTime !== undefined && firstPartMs !== undefined && used !== undefined)
    assert.deepEqual(row, {
      ...{
        requestId: 'req_1',
        workspaceId: 'wrk_1',
        apiKeyId: 'key_1',
        origin: 'chat',
        status: GenerationRecord_Status.COMPLETED,
      },
      ...{ providerId: 'p', modelId: 'gpt', streamed: false, sessionId: 'ses_1', user: 'someone', attribution },
      ...{ metadata: { team: 'red' }, costNanos: cost, costKnown: true, finishReason: 1, rawReason: 'stop' },
      ...{ serviceTier: 'default', leftOut: ['plugins'] },
    })
    await ask()
    const { keys } = await usage.getKeyUsage({ keyIds: ['key_9', 'key_1'] }, byKey)
    const all = 2n * cost
    const spent = { totalNanos: all, dayNanos: all, weekNanos: all, monthNanos: all, reservedNanos: 0n }
    const nothing = Object.fromEntries(Object.keys(spent).map((member) => [member, 0n]))
    assert.deepEqual(plain(keys), [
      { keyId: 'key_9', spending: nothing },
      { keyId: 'key_1', spending: spent },
    ])
    assert.deepEqual(plain((await usage.getWorkspaceUsage({}, byKey)).spending), spent)
    const { activities } = await usage.listActivity({ metadataKey: 'team' }, byKey)
    assert.deepEqual(
      activities.map(({ modelId, metadataValue, requestCount, costNanos }) => [
        modelId,
        metadataValue,
        requestCount,
        costNanos,
      ]),
      [
        ['gpt', undefined, 1, cost],
        ['gpt', 'red', 1, cost],
      ],
    )
    assert.deepEqual((await usage.listActivity({ keyId: 'key_9' }, byKey)).activities, [])
  })

  test(`${name}: requests are checked, and no row of another workspace is found`, async () => {
    await using service = await open(connect)
    const { usage, ask } = service
    await ask()
    const hidden = await refusalOf(usage.getGeneration({ requestId: 'req_1' }, byOther))
    assert.deepEqual([hidden.reason, hidden.metadata], ['GENERATION_NOT_FOUND', { request_id: 'req_1' }])
    assert.equal((await usage.getWorkspaceUsage({}, byOther)).spending?.totalNanos, 0n)
    assert.deepEqual((await usage.listActivity({}, byOther)).activities, [])
    for (const date of ['2020-01-01', '2020-13-01', 'today', '2020-02-30']) {
      const { reason, metadata } = await refusalOf(usage.listActivity({ date }, byKey))
      assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', 'date'])
    }
    assert.equal((await refusalOf(usage.getKeyUsage({ keyIds: [] }, byKey))).reason, 'REQUEST_INVALID')
  })

  test(`${name}: a request that a key may not spend on is refused before the provider is called`, async () => {
    await using service = await open(connect)
    const { stub, ask } = service
    const poor = await refusalOf(ask({ maxOutputTokens: 1_000 }, { limitNanos: 500n }))
    assert.deepEqual([poor.reason, poor.metadata.limit], ['CREDIT_INSUFFICIENT', 'key'])
    assert.match(
      poor.metadata.problem ?? '',
      /0\.00000\d+ US dollars, and 0\.0000005 are left, which pays for at most 2\d\d /,
    )
    const shared = await refusalOf(ask({ maxOutputTokens: 1_000 }, { limitNanos: 5_000n, workspaceLimitNanos: 500n }))
    assert.deepEqual([shared.reason, shared.metadata.limit], ['CREDIT_INSUFFICIENT', 'workspace'])
    const dark = await refusalOf(ask({ model: 'p/dark' }, { limitNanos: 500n }))
    assert.deepEqual([dark.reason, dark.metadata], ['PRICE_UNKNOWN', { model: 'p/dark', limit: 'key' }])
    assert.equal(stub.seen.length, 0)
    await ask({}, { limitNanos: 500n, limitReset: KeyTerms_Reset.DAILY, requestsPerMinute: 1 })
    const { max_completion_tokens: cut, max_tokens: older = cut } = (stub.seen[0]?.body ?? {}) as Record<string, number>
    assert.ok(older !== undefined && older > 200 && older < 250)
    const fast = await refusalOf(ask({}, { requestsPerMinute: 1 }))
    assert.deepEqual(
      [fast.reason, fast.metadata.limit, fast.metadata.most],
      ['RATE_LIMITED', 'requests_per_minute', '1'],
    )
    assert.equal(fast.metadata.problem, 'the key may make 1 request a minute')
    assert.ok(Number(fast.metadata.retry_after) >= 1 && Number(fast.metadata.retry_after) <= 60)
    assert.equal(stub.seen.length, 1)
  })

  test(`${name}: a caller that has its answer may send the next request at once, whatever the last one reserved`, async () => {
    await using service = await open(connect)
    const terms = { concurrentRequests: 1, limitNanos: 100_000n, tokensPerMinute: 100_000n }
    for (let n = 0; n < 20; n++) await service.ask({}, terms)
    assert.equal(service.stub.seen.length, 20)
  })

  test(`${name}: input that would be too much for a minute of its own is refused for good, not for now`, async () => {
    await using service = await open(connect)
    const terms = { tokensPerMinute: 100n }
    await service.ask({}, terms)
    const long = { messages: [userMessage('x'.repeat(300))] }
    const { reason, metadata } = await refusalOf(service.ask(long, terms))
    assert.deepEqual([reason, metadata.field], ['REQUEST_INVALID', 'messages'])
    assert.match(metadata.problem ?? '', /104 tokens are more than the 100 that the key may use a minute/)
    const wait = await refusalOf(service.ask({ messages: [userMessage('x'.repeat(285))] }, terms))
    assert.deepEqual([wait.reason, wait.metadata.limit], ['RATE_LIMITED', 'tokens_per_minute'])
    assert.equal(wait.metadata.problem, 'the key may use 100 tokens a minute')
  })

  test(`${name}: the output of a request is limited to the reserved amount if there is a spending limit`, async () => {
    await using service = await open(connect)
    const { stub, ask } = service
    const rich = { limitNanos: 10n ** 12n }
    await ask({}, rich)
    await ask({}, { workspaceLimitNanos: 10n ** 12n })
    await ask({ maxOutputTokens: 70_000 }, rich)
    await ask({}, { requestsPerMinute: 100 })
    const sent = stub.seen.map(({ body }) => (body as Record<string, number>).max_tokens)
    assert.deepEqual(sent, [32_768, 32_768, 70_000, undefined])
  })

  test(`${name}: a tier without a price is reserved and charged by an estimate, marked as one`, async () => {
    const answer = { ...JSON.parse(fixture('openai-text.json')), service_tier: 'priority' }
    await using service = await open(connect, {}, JSON.stringify(answer))
    const tier = { serviceTier: 'priority', maxOutputTokens: 100 }
    const plain = await refusalOf(service.ask({ maxOutputTokens: 100 }, { limitNanos: 1n }))
    const dearer = await refusalOf(service.ask(tier, { limitNanos: 1n }))
    const needed = [plain, dearer].map(({ metadata }) => Number(/cost ([\d.]+)/.exec(metadata.problem ?? '')?.[1]))
    assert.ok(Math.abs((needed[1] ?? 0) / (needed[0] ?? 1) - 2.5) < 0.02, String(needed))
    const { generation } = await service.ask(tier, { limitNanos: 10n ** 9n })
    const { inputTokens = 0n, outputTokens = 0n } = generation?.usage ?? {}
    assert.equal(generation?.costKnown, false)
    assert.equal(generation?.costNanos, ((inputTokens + 2n * outputTokens) * 5n + 1n) / 2n)
    const { keys } = await service.usage.getKeyUsage({ keyIds: ['key_1'] }, byKey)
    assert.equal(keys[0]?.spending?.totalNanos, generation?.costNanos)
  })

  test(`${name}: a model without a price is used where the setting allows it`, async () => {
    await using service = await open(connect, { allowUnpriced: true })
    const { generation } = await service.ask({ model: 'p/dark' }, { limitNanos: 0n })
    assert.deepEqual([generation?.costKnown, generation?.costNanos], [false, 0n])
  })
})
