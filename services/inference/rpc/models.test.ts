import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { serve } from '#shared/process/serve.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createGrpcJsClient } from '#test/support/grpc-js.ts'
import { openInference, operator, plain, userMessage } from '#test/support/inference.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport, silentLogger, testSecret } from '#test/support/transports.ts'

const pricing = create(PricingSchema, { inputNanos: 1n, outputNanos: 2n, cacheReadNanos: 3n, cacheWriteNanos: 4n })
const ALL = [
  ...['max_tokens', 'max_completion_tokens', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format'],
  ...['structured_outputs', 'temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'frequency_penalty', 'presence_penalty'],
  ...['repetition_penalty', 'seed', 'stop', 'logit_bias', 'logprobs', 'top_logprobs', 'prediction', 'reasoning'],
  ...['reasoning_effort', 'include_reasoning', 'verbosity'],
]
const known = (inputModalities: string[], supportedParameters: string[], open = false) => {
  const policy = { quantization: 'unknown', retainsNothing: open, distillable: open }
  return { inputModalities, outputModalities: ['text'], supportedParameters, ...policy }
}
const compatible = known(
  ['text', 'image', 'file', 'audio'],
  ALL.filter((name) => name !== 'top_a'),
)
const echo = {
  ...known(['text', 'image', 'file', 'audio', 'video'], ALL, true),
  name: 'portico/echo',
  providerId: 'portico',
  modelId: 'echo',
  displayName: 'Echo (built in)',
  contextLength: 1_000_000,
  pricing: plain(create(PricingSchema)),
}
const small = {
  ...echo,
  ...{ name: 'portico/echo-small', modelId: 'echo-small', displayName: 'Echo with a small context (built in)' },
  contextLength: 2_000,
}

forEachTransport((name, connect) => {
  test(`${name}: models, providers and the default model, in order of configuration`, async () => {
    const models = [
      { id: 'meta/llama', displayName: 'Llama', contextLength: 8, pricing },
      { id: 'new', displayName: 'new', contextLength: undefined },
    ]
    const provider = { id: 'vllm', protocol: 'openai', baseUrl: 'http://a', apiKey: 'k', headers: {}, models } as const
    await using service = await openInference({ providers: [provider], defaultModel: 'vllm/meta/llama' })
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    assert.deepEqual(plain(await client.listModels({}, callOptions({ principal: operator }))), {
      models: [
        {
          name: 'vllm/meta/llama',
          providerId: 'vllm',
          modelId: 'meta/llama',
          displayName: 'Llama',
          contextLength: 8,
          pricing: plain(pricing),
          ...compatible,
        },
        {
          name: 'vllm/new',
          providerId: 'vllm',
          modelId: 'new',
          displayName: 'new',
          ...compatible,
        },
        echo,
        small,
      ],
      providers: [
        { providerId: 'vllm', protocol: 'openai' },
        { providerId: 'portico', protocol: 'echo' },
      ],
      defaultModel: 'vllm/meta/llama',
    })
    assert.equal((await refusalOf(client.listModels({}))).reason, 'PRINCIPAL_MISSING')
    const as = callOptions({ principal: operator })
    const found = await client.getProvider({ providerId: 'vllm' }, as)
    assert.deepEqual(plain(found), { provider: { providerId: 'vllm', protocol: 'openai' } })
    assert.equal((await refusalOf(client.getProvider({ providerId: 'nobody' }, as))).reason, 'PROVIDER_NOT_FOUND')
  })
})

test('a stock gRPC client lists models and generates', async () => {
  await using service = await openInference()
  const address = { host: '127.0.0.1', port: 0, secret: testSecret, logger: silentLogger }
  await using server = await serve({ ...address, routes: [service.routes] })
  using client = createGrpcJsClient(server.url, { principal: operator })
  const { listModels, streamGenerate } = InferenceService.method
  assert.deepEqual(plain((await client.unary(listModels, {})).models), [echo, small])
  const kinds: (string | undefined)[] = []
  const generation = { requestId: 'r', messages: [userMessage('/length 2')] }
  for await (const { events } of client.stream(streamGenerate, { generation })) {
    kinds.push(...events.map(({ event }) => event.case))
  }
  assert.deepEqual(kinds, ['started', 'partStarted', 'partExtended', 'partExtended', 'partEnded', 'finished'])
})
