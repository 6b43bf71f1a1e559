import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { GenerationRecord_Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { SqliteLedger } from '#services/inference/adapters/sqlite/ledger.ts'
import type { Config } from '#services/inference/config.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openConnected, openInference, operator, plain, userMessage } from '#test/support/inference.ts'
import { answers, fixture, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { recordSpans } from '#test/support/spans.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** Configuration of one provider, which is a stub, with a price. */
function served({ url: baseUrl }: ProviderStub): Partial<Config> {
  const nanos = { inputNanos: 2_000_000n, outputNanos: 3_000_000n, cacheReadNanos: 1_000n }
  const pricing = create(PricingSchema, nanos)
  const models = [{ id: 'gpt', displayName: 'GPT', pricing }]
  const provider = { id: 'p', protocol: 'openai', baseUrl, apiKey: undefined, headers: {}, models } as const
  return { providers: [provider], defaultModel: 'p/gpt' }
}

const hello = (requestId: string, text = 'Hello there') => ({
  generation: { requestId, messages: [userMessage(text)] },
})
const options = callOptions({ principal: operator })

forEachTransport((name, connect) => {
  test(`${name}: a generation comes whole: its parts in order, why it ended, usage and cost`, async () => {
    await using service = await openInference()
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const { generation } = await client.generate(hello('req_1', '/reasoning hm so\nHello there'), options)
    const text = 'This is portico/echo, the built-in model that needs no network. You said: Hello there'
    const thought = { text: 'hm so' }
    assert.deepEqual(plain(generation), {
      model: 'portico/echo',
      providerId: 'portico',
      parts: [
        { part: { case: 'reasoning', value: thought } },
        { part: { case: 'text', value: { text, sources: [] } } },
      ],
      warnings: [],
      endpointCount: 1,
      sources: [],
      reason: 1,
      rawReason: 'stop',
      usage: {
        inputTokens: 5n,
        outputTokens: 16n,
        cacheReadTokens: 0n,
        cacheWriteTokens: 0n,
        reasoningTokens: 2n,
        estimated: false,
      },
      costNanos: 0n,
      outputCostNanos: 0n,
      logProbabilities: {},
      costKnown: true,
    })
    assert.equal((await refusalOf(client.generate(hello('req_1'), options))).reason, 'REQUEST_DUPLICATE')
    const { reason, metadata } = await refusalOf(client.generate(hello('req_2', '/fail 429'), options))
    assert.deepEqual([reason, metadata.status], ['PROVIDER_RATE_LIMITED', '429'])
    const missing = await refusalOf(client.generate({}, options))
    assert.deepEqual([missing.reason, missing.metadata.field], ['REQUEST_INVALID', 'generation'])
  })

  test(`${name}: warnings, sources, and a provider’s metadata of a part are returned with the generation`, async () => {
    await using stub = await startStub(answers(200, fixture('openai-sources.json')))
    await using service = await openInference(served(stub))
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const { generation: asked } = hello('req_1')
    const { generation } = await client.generate({ generation: { ...asked, reasoning: { maxTokens: 9 } } }, options)
    assert.deepEqual(plain(generation?.warnings), [
      { field: 'reasoning.max_tokens', message: 'This provider has no such setting: it was left out' },
    ])
    assert.deepEqual(plain(generation?.sources), [
      {
        ...{ partIndex: 0, url: 'https://example.com/lease', title: 'Leases', start: 0, end: 6 },
        citedText: 'A lease is a right for a time.',
      },
      { partIndex: 0, start: 3, fileId: 'file_1' },
    ])
    const annotations = generation?.parts[0]?.providerMetadata?.annotations
    assert.equal(Array.isArray(annotations) && annotations.length, 2)
  })

  test(`${name}: an answer of a great many deltas comes whole from a server that streams even when a whole answer was requested`, async () => {
    const count = 200_000
    const delta = 'data: {"choices":[{"delta":{"content":"w"}}]}\n\n'
    await using stub = await startStub(streams(`${delta.repeat(count)}data: [DONE]\n\n`))
    await using service = await openInference(served(stub))
    await using connection = await connect(service.routes)
    const { generation } = await createClient(InferenceService, connection.transport).generate(hello('req_1'), options)
    assert.deepEqual(plain(generation?.parts), [
      { part: { case: 'text', value: { text: 'w'.repeat(count), sources: [] } } },
    ])
  })

  test(`${name}: the row of the ledger shows how each generation ended`, async () => {
    await using stub = await startStub((response) => {
      if (stub.seen.length === 1) answers(200, fixture('openai-text.json'))(response)
    })
    await using service = await openConnected(connect, served(stub))
    const { client } = service
    const { generation } = await client.generate(hello('req_1'), options)
    assert.deepEqual([generation?.costNanos, generation?.outputCostNanos], [389n, 36n])

    const controller = new AbortController()
    const left = client.generate(hello('req_2'), callOptions({ principal: operator }, { signal: controller.signal }))
    await waitFor('the request at the provider', () => stub.seen.length === 2)
    controller.abort()
    await assert.rejects(left, (error) => error instanceof ConnectError && error.code === Code.Canceled)
    await stub.hungUp
    await service.stop()

    await using ledger = await SqliteLedger.open(`${service.directory}/inference.sqlite`, systemClock)
    const [whole, gone] = [await ledger.get('wrk_1', 'req_1'), await ledger.get('wrk_1', 'req_2')]
    assert.deepEqual(
      [whole?.status, whole?.costNanos, whole?.usage?.outputTokens],
      [GenerationRecord_Status.COMPLETED, 389n, 12n],
    )
    assert.deepEqual(
      [gone?.status, gone?.error, gone?.usage?.estimated],
      [GenerationRecord_Status.ABORTED, undefined, true],
    )
  })

  test(`${name}: a whole generation that takes too long is a timeout, and ends the provider’s request`, async () => {
    await using stub = await startStub(() => {})
    await using service = await openInference({ ...served(stub), generationTimeoutMs: 100 })
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const { reason, metadata } = await refusalOf(client.generate(hello('req_1'), options))
    assert.deepEqual([reason, metadata], ['PROVIDER_TIMEOUT', { provider: 'p', model: 'p/gpt' }])
    await stub.hungUp
  })
})

test('a whole generation has a span with the model, the usage and the end', async () => {
  await using spans = await recordSpans()
  await using service = await openInference()
  await using connection = await connectLocal(service.routes)
  await createClient(InferenceService, connection.transport).generate(hello('req_1'), options)
  const { attributes } = spans.named('chat echo')
  assert.equal(attributes['gen_ai.request.stream'], false)
  assert.equal(attributes['gen_ai.usage.output_tokens'], 14)
  assert.deepEqual(attributes['gen_ai.response.finish_reasons'], ['stop'])
})
