import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import type { GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { FinishReason, PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService, type StreamGenerateResponse } from '#gen/portico/inference/v1/inference_service_pb.js'
import { type GenerationRecord, GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { SqliteLedger } from '#services/inference/adapters/sqlite/ledger.ts'
import type { Config } from '#services/inference/config.ts'
import { systemClock } from '#shared/clock.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openIdentity } from '#test/support/identity.ts'
import {
  type ConnectedInference,
  openConnected,
  openInference,
  operator,
  plain,
  userMessage,
} from '#test/support/inference.ts'
import { fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { recordSpans } from '#test/support/spans.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'

type Request = MessageInitShape<typeof GenerationRequestSchema>

/** Collects all messages of a generation. */
async function collect(messages: AsyncIterable<StreamGenerateResponse>): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const { events: batch } of messages) events.push(...batch.map(({ event }) => plain(event)))
  return events
}

function hello(requestId: string, text = 'Hello there', model?: string): Request {
  return { requestId, model, messages: [userMessage(text)] }
}

/** Configuration of one provider at a URL, with a price. */
function served(url: string): Partial<Config> {
  const nanos = { inputNanos: 2_000_000n, outputNanos: 3_000_000n, cacheReadNanos: 1_000n }
  const pricing = create(PricingSchema, nanos)
  const models = [{ id: 'gpt', displayName: 'GPT', pricing }]
  return {
    providers: [{ id: 'p', protocol: 'openai', baseUrl: url, apiKey: undefined, headers: {}, models }],
    defaultModel: 'p/gpt',
  }
}

/** Ends a service, and reads rows of its ledger. */
async function rowsOf({ directory, stop }: ConnectedInference, ...ids: string[]) {
  await stop()
  await using ledger = await SqliteLedger.open(`${directory}/inference.sqlite`, systemClock)
  const rows: (Partial<GenerationRecord> | undefined)[] = []
  for (const id of ids) {
    const row = await ledger.get('wrk_1', id)
    if (row === undefined) rows.push(row)
    else {
      const { createTime, finishTime, firstPartMs: _, ...rest } = row
      assert.ok(finishTime !== undefined && finishTime >= createTime)
      rows.push(rest)
    }
  }
  return rows
}

forEachTransport((name, connect) => {
  test(`${name}: started, the parts and finished come in order, with usage and cost at the end`, async () => {
    await using service = await openInference()
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const request = hello('req_1', '/reasoning hm so\nHello there')
    const events = await collect(client.streamGenerate({ generation: request }, callOptions({ principal: operator })))
    const said = [
      'This ',
      'is ',
      'portico/echo, ',
      'the ',
      'built-in ',
      'model ',
      'that ',
      'needs ',
      'no ',
      'network. ',
    ]
    const words = [...said, 'You ', 'said: ', 'Hello ', 'there']
    assert.deepEqual(events, [
      { case: 'started', value: { model: 'portico/echo', providerId: 'portico', warnings: [], endpointCount: 1 } },
      { case: 'partStarted', value: { index: 0, kind: 2 } },
      { case: 'partExtended', value: { index: 0, text: 'hm ', logProbabilities: [] } },
      { case: 'partExtended', value: { index: 0, text: 'so', logProbabilities: [] } },
      {
        case: 'partEnded',
        value: { index: 0, part: { part: { case: 'reasoning', value: { text: 'hm so' } } } },
      },
      { case: 'partStarted', value: { index: 1, kind: 1 } },
      ...words.map((text) => ({ case: 'partExtended', value: { index: 1, text, logProbabilities: [] } })),
      {
        case: 'partEnded',
        value: { index: 1, part: { part: { case: 'text', value: { text: words.join(''), sources: [] } } } },
      },
      {
        case: 'finished',
        value: {
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
          costKnown: true,
        },
      },
    ])
  })

  test(`${name}: one row of the ledger for each request, with its cost in whole nano-dollars`, async () => {
    await using stub = await startStub(streams(fixture('openai-text.sse')))
    await using service = await openConnected(connect, served(stub.url))
    const { client } = service
    const request = { ...hello('req_1'), origin: 'responses', sessionId: 'ses_1' }
    const events = await collect(client.streamGenerate({ generation: request }, callOptions({ principal: operator })))
    // 176 fresh input tokens, 1,024 cached ones and 12 of output: 352 + 1.024 + 36 nano-dollars.
    const usage = {
      inputTokens: 1200n,
      outputTokens: 12n,
      cacheReadTokens: 1024n,
      cacheWriteTokens: 0n,
      reasoningTokens: 8n,
    }
    const cost = { costNanos: 389n, outputCostNanos: 36n, costKnown: true }
    const end = { reason: 1, rawReason: 'stop', serviceTier: 'default' }
    const value = { ...end, usage: { ...usage, estimated: false }, ...cost }
    assert.deepEqual(events.at(-1), { case: 'finished', value })
    const repeated = collect(client.streamGenerate({ generation: request }, callOptions({ principal: operator })))
    const { reason, code, metadata } = await refusalOf(repeated)
    assert.deepEqual([reason, code, metadata], ['REQUEST_DUPLICATE', 'AlreadyExists', { request_id: 'req_1' }])
    assert.equal(stub.seen.length, 1)
    assert.deepEqual(plain(await rowsOf(service, 'req_1')), [
      {
        workspaceId: 'wrk_1',
        requestId: 'req_1',
        ...{
          origin: 'responses',
          streamed: true,
          sessionId: 'ses_1',
          providerId: 'p',
          modelId: 'gpt',
        },
        ...{ metadata: {}, status: Status.COMPLETED, costNanos: 389n },
        usage: { ...usage, estimated: false },
        ...{
          costKnown: true,
          finishReason: FinishReason.STOP,
          rawReason: 'stop',
          serviceTier: 'default',
          leftOut: [],
        },
      },
    ])
  })

  test(`${name}: a caller that hangs up aborts the provider’s request, and the row says so`, async () => {
    const chunk = { choices: [{ delta: { content: 'a' } }], usage: { prompt_tokens: 7, completion_tokens: 1 } }
    await using stub = await startStub((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    })
    await using service = await openConnected(connect, served(stub.url))
    const { client } = service
    const controller = new AbortController()
    const options = callOptions({ principal: operator }, { signal: controller.signal })
    const call = async (): Promise<void> => {
      for await (const _ of client.streamGenerate({ generation: hello('req_1') }, options)) controller.abort()
    }
    await assert.rejects(call(), (error) => error instanceof ConnectError && error.code === Code.Canceled)
    const left = client.streamGenerate({ generation: hello('req_2') }, callOptions({ principal: operator }))
    for await (const _ of left) break
    while (stub.hangUps < 2) await delay(5)
    const cache = { cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 0n }
    const usage = { inputTokens: 7n, outputTokens: 1n, ...cache, estimated: true }
    const rows = await rowsOf(service, 'req_1', 'req_2')
    for (const row of rows) {
      assert.deepEqual(
        [row?.status, plain(row?.usage), row?.costNanos, row?.error],
        [Status.ABORTED, usage, 17n, undefined],
      )
    }
  })

  test(`${name}: a failing provider is reported by its reason, and the row is closed as failed`, async () => {
    await using service = await openConnected(connect)
    const { client } = service
    const call = (id: string, text: string) =>
      refusalOf(collect(client.streamGenerate({ generation: hello(id, text) }, callOptions({ principal: operator }))))
    const metadata = (status: string) => ({
      ...{ provider: 'portico', model: 'portico/echo', status },
      message: `The prompt requested status ${status}`,
    })
    for (const [status, reason, code] of [
      ['402', 'PROVIDER_REFUSED', 'FailedPrecondition'],
      ['429', 'PROVIDER_RATE_LIMITED', 'ResourceExhausted'],
      ['503', 'PROVIDER_UNAVAILABLE', 'Unavailable'],
      ['504', 'PROVIDER_TIMEOUT', 'DeadlineExceeded'],
    ] as const) {
      const refusal = await call(`req_${status}`, `/fail ${status}`)
      assert.deepEqual([refusal.reason, refusal.code, refusal.metadata], [reason, code, metadata(status)])
    }
    assert.equal((await call('req_after', '/fail 500 after 2\nHello')).reason, 'PROVIDER_UNAVAILABLE')
    const [refused, after] = await rowsOf(service, 'req_402', 'req_after')
    assert.deepEqual([refused?.status, refused?.error, refused?.usage], [Status.FAILED, 'PROVIDER_REFUSED', undefined])
    // One token per 3 bytes of what came is more than the echo reported.
    assert.deepEqual([after?.status, after?.usage?.outputTokens, after?.usage?.estimated], [Status.FAILED, 3n, true])
  })

  test(`${name}: a generation that takes too long is a timeout`, async () => {
    await using service = await openInference({ generationTimeoutMs: 100 })
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const call = collect(
      client.streamGenerate({ generation: hello('req_1', '/slow 60000\nHello') }, callOptions({ principal: operator })),
    )
    const { reason, metadata } = await refusalOf(call)
    assert.deepEqual([reason, metadata], ['PROVIDER_TIMEOUT', { provider: 'portico', model: 'portico/echo' }])
  })

  test(`${name}: a request that cannot be served is refused by its field, and no row is written`, async () => {
    await using service = await openConnected(connect)
    const { client } = service
    const messages = [userMessage('Hello')]
    const cases: readonly (readonly [Request, string])[] = [
      [{ messages }, 'request_id'],
      [{ requestId: 'x'.repeat(129), messages }, 'request_id'],
      [{ requestId: 'r' }, 'messages'],
      [{ requestId: 'r', messages: [{ parts: [] }] }, 'messages[0].role'],
      [{ requestId: 'r', messages: [{ role: 2, parts: [{}] }] }, 'messages[0].parts[0]'],
      [{ requestId: 'r', messages, maxOutputTokens: 0 }, 'max_output_tokens'],
      [{ requestId: 'r', messages, tools: [{}] }, 'tools[0].name'],
      [{ requestId: 'r', messages, toolChoice: { mode: 3 } }, 'tool_choice'],
      [{ requestId: 'r', messages, toolChoice: {} }, 'tool_choice.mode'],
      [{ requestId: 'r', messages, toolChoice: { mode: 4, name: 'x' } }, 'tool_choice'],
      [{ requestId: 'r', messages, toolChoice: { mode: 5, name: 'web_search' } }, 'tool_choice'],
      [{ requestId: 'r', messages, hostedTools: [{ format: 'f', definition: {} }] }, 'hosted_tools[0].definition'],
      [{ requestId: 'r', messages, extensions: [{ format: 'f' }, { format: 'f' }] }, 'extensions[1].format'],
      [{ requestId: 'r', messages, extensions: [{ format: 'f', headers: { 'a b': 'c' } }] }, 'extensions[0].headers'],
      [{ requestId: 'r', messages, sampling: { logitBias: { 5: 101 } } }, 'sampling.logit_bias'],
      [{ requestId: 'r', messages, metadata: { ['x'.repeat(65)]: '' } }, 'metadata'],
      [{ requestId: 'r', messages, attribution: { title: 'x'.repeat(257) } }, 'attribution.title'],
      [{ requestId: 'r', messages, providerTimeouts: { chunkMs: 0 } }, 'provider_timeouts.chunk_ms'],
      [
        { requestId: 'r', messages: [{ role: 2, parts: [{ part: { case: 'foreign', value: {} } }] }] },
        'messages[0].parts[0].foreign',
      ],
      [{ requestId: 'r', messages, sampling: { temperature: 2.1 } }, 'sampling.temperature'],
      [{ requestId: 'r', messages, sampling: { stop: Array(65).fill('a') } }, 'sampling.stop'],
      [{ requestId: 'r', messages, providerHeaders: { 'a b': 'c' } }, 'provider_headers'],
      [{ requestId: 'r', messages, user: 'x'.repeat(257) }, 'user'],
      [
        { requestId: 'r', messages, responseFormat: { format: { case: 'jsonSchema', value: {} } } },
        'response_format.json_schema.name',
      ],
    ]
    for (const [request, field] of cases) {
      const refusal = await refusalOf(
        collect(client.streamGenerate({ generation: request }, callOptions({ principal: operator }))),
      )
      assert.deepEqual(
        [refusal.reason, refusal.code, refusal.metadata.field],
        ['REQUEST_INVALID', 'InvalidArgument', field],
      )
    }
    for (const model of ['nobody/gpt', 'portico/other', 'gpt']) {
      const call = collect(
        client.streamGenerate({ generation: hello('r', 'Hello', model) }, callOptions({ principal: operator })),
      )
      const { reason, code, metadata } = await refusalOf(call)
      assert.deepEqual([reason, code, metadata], ['MODEL_NOT_FOUND', 'NotFound', { model }])
    }
    assert.equal(
      (await refusalOf(collect(client.streamGenerate({ generation: hello('r') })))).reason,
      'PRINCIPAL_MISSING',
    )
    assert.deepEqual(await rowsOf(service, 'r'), [undefined])
  })

  test(`${name}: a key that was disabled spends nothing`, async () => {
    await using identity = await openIdentity(connectLocal)
    await using peer = await connect(identity.routes)
    await using service = await openInference({}, peer.transport)
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const { keyId } = await identity.create()
    const { organizationId, workspaceId } = identity
    const principal: Principal = { organizationId, workspaceId, apiKeyId: keyId, kind: 'workspace' }
    const call = (id: string) => collect(client.streamGenerate({ generation: hello(id) }, callOptions({ principal })))
    await call('req_1')
    await identity.client.updateApiKey(
      { keyId, disabled: true, updateMask: { paths: ['disabled'] } },
      identity.as('management'),
    )
    assert.deepEqual(await refusalOf(call('req_2')), {
      code: 'Unauthenticated',
      domain: 'identity',
      reason: 'CREDENTIAL_REFUSED',
      metadata: {},
      message: 'The credential is not valid',
    })
  })
})

test('a generation has a span with the model, the usage and the end, inside the call’s', async () => {
  await using spans = await recordSpans()
  await using service = await openInference()
  await using connection = await connectLocal(service.routes)
  const client = createClient(InferenceService, connection.transport)
  await collect(
    client.streamGenerate(
      { generation: { ...hello('req_1'), sessionId: 'ses_1', trace: { trace_name: 'nightly', step: 2 } } },
      callOptions({ principal: operator }),
    ),
  )
  const span = spans.named('chat echo')
  assert.deepEqual(span.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'portico',
    'gen_ai.request.model': 'echo',
    'gen_ai.request.stream': true,
    'gen_ai.conversation.id': 'ses_1',
    'portico.trace.trace_name': 'nightly',
    'portico.trace.step': '2',
    'gen_ai.usage.input_tokens': 2,
    'gen_ai.usage.output_tokens': 14,
    'gen_ai.usage.cache_read.input_tokens': 0,
    'gen_ai.usage.cache_creation.input_tokens': 0,
    'gen_ai.usage.reasoning.output_tokens': 0,
    'gen_ai.response.finish_reasons': ['stop'],
  })
  const call = spans.named('portico.inference.v1.InferenceService/StreamGenerate')
  assert.equal(span.parentSpanContext?.spanId, call.spanContext().spanId)
  assert.deepEqual(spans.named('Ledger.open').attributes, { 'db.system.name': 'sqlite' })
})
