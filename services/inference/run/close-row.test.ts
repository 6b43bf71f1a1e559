import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { FinishReason, PricingSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { GenerationRecord_Status, UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { systemClock } from '#shared/clock.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { generationRequest } from '#test/support/generation.ts'
import { openInference, userMessage } from '#test/support/inference.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk } from '#test/support/responses.ts'
import { connectLocal, silentLogger } from '#test/support/transports.ts'
import { OpenaiProvider } from '../adapters/openai/provider.ts'
import { Meter } from '../domain/meter.ts'
import type { LedgerClosing } from '../ports/ledger.ts'
import { closeRow } from './close-row.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

const principal: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }
const options = callOptions({ principal, authenticated: true })
const pricing = create(PricingSchema, {
  ...{ inputNanos: 1_000_000n, outputNanos: 2_000_000n },
  ...{ cacheReadNanos: 1_000_000n, cacheWriteNanos: 1_000_000n },
})
const hello = chunk({ role: 'assistant', content: 'Hello you' })

const settled = { [Symbol.dispose]() {} }
const keeper = { keep: () => settled }

/**
 * What a provider may do to a stream and to a whole answer, and the usage that results: none, an estimate, or what it
 * reports.
 */
const FAULTS: Readonly<
  Record<string, readonly [(response: ServerResponse) => unknown, 'nothing' | 'estimate' | 'none' | 'usage']>
> = {
  'refuses the key': [answers(401, { error: { message: 'no' } }), 'nothing'],
  'limits the rate': [answers(429, { error: { message: 'slow' } }), 'nothing'],
  'has an error': [answers(500, 'oops'), 'nothing'],
  'hangs up at once': [(response) => response.destroy(), 'nothing'],
  'never answers': [() => {}, 'nothing'],
  'answers with a page': [answers(200, '<html>', { 'content-type': 'text/html' }), 'nothing'],
  'cuts its stream': [
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(hello, () => response.destroy())
    },
    'estimate',
  ],
  'stalls in its stream': [
    (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(hello),
    'estimate',
  ],
  'says an error in its stream': [streams(`${hello}data: {"error":{"message":"no","code":500}}\n\n`), 'estimate'],
  'ends without usage': [streams(`${hello}${chunk({}, {}, 'stop')}data: [DONE]\n\n`), 'estimate'],
  'ends for its length what is too long': [
    answers(400, { error: { message: 'Too long', code: 'context_length_exceeded' } }),
    'none',
  ],
  'ends well': [streams(hello + chatEnd()), 'usage'],
}

test('one row is closed with its usage however a provider ends a stream, and nothing stays reserved', async () => {
  let fault: (response: ServerResponse) => unknown = () => {}
  await using stub = await startStub((response) => fault(response))
  const models = [{ id: 'gpt', displayName: 'gpt', pricing }]
  const provider = { id: 'p', protocol: 'openai', baseUrl: stub.url, apiKey: undefined, headers: {}, models } as const
  await using service = await openInference({ providers: [provider], defaultModel: 'p/gpt', generationTimeoutMs: 700 })
  await using connection = await connectLocal(service.routes)
  const inference = createClient(InferenceService, connection.transport)
  const usage = createClient(UsageService, connection.transport)
  let spent = 0n
  for (const [requestId, [play, used]] of Object.entries(FAULTS)) {
    fault = play
    const generation = { requestId, messages: [userMessage('Hi')], maxOutputTokens: 100, endsAtOverflow: true }
    let failed = false
    try {
      for await (const _ of inference.streamGenerate({ generation, terms: { concurrentRequests: 1 } }, options));
    } catch {
      failed = true
    }
    const found = (await usage.getGeneration({ requestId }, options)).generation ?? assert.fail(requestId)
    assert.equal(failed, !requestId.startsWith('ends'), requestId)
    assert.equal(found.status, failed ? GenerationRecord_Status.FAILED : GenerationRecord_Status.COMPLETED, requestId)
    assert.equal(found.error !== undefined, failed, requestId)
    const kind =
      found.usage === undefined
        ? 'nothing'
        : found.usage.estimated
          ? 'estimate'
          : found.usage.inputTokens > 0n
            ? 'usage'
            : 'none'
    assert.equal(kind, used, requestId)
    if (kind === 'estimate') assert.ok((found.usage?.outputTokens ?? 0n) >= 3n, requestId)
    spent += found.costNanos
    const { keys } = await usage.getKeyUsage({ keyIds: ['key_1'] }, options)
    const { totalNanos, reservedNanos } = keys[0]?.spending ?? assert.fail()
    assert.deepEqual([totalNanos, reservedNanos], [spent, 0n], requestId)
  }
  const { activities } = await usage.listActivity({}, options)
  assert.deepEqual(
    activities.map(({ requestCount, costNanos }) => [requestCount, costNanos]),
    [[Object.keys(FAULTS).length, spent]],
  )
})

test('a failed answer is paid for as the provider reports, streamed and whole', async () => {
  let answer: (response: ServerResponse) => unknown = () => {}
  await using stub = await startStub((response) => answer(response))
  const shared = { baseUrl: stub.url, apiKey: undefined, headers: {} }
  const models = [{ id: 'm', displayName: 'm', pricing }]
  const chat = { ...shared, models, id: 'chat', protocol: 'openai' } as const
  const responses = { ...shared, models, id: 'responses', protocol: 'openai-responses' } as const
  await using service = await openInference({ providers: [chat, responses] })
  await using connection = await connectLocal(service.routes)
  const inference = createClient(InferenceService, connection.transport)
  const usage = createClient(UsageService, connection.transport)
  const error = { code: 502, message: 'It broke' }
  const counts = { prompt_tokens: 40, completion_tokens: 900, completion_tokens_details: { reasoning_tokens: 800 } }
  const failed = { status: 'failed', error, usage: { input_tokens: 40, output_tokens: 900 } }
  for (const [model, whole, event] of [
    ['chat/m', { error, usage: counts }, { error, usage: counts }],
    [
      'chat/m',
      { choices: [{ message: {}, finish_reason: 'error', error }], usage: counts },
      { choices: [{ delta: {}, finish_reason: 'error', error }], usage: counts },
    ],
    ['responses/m', failed, { type: 'response.failed', response: failed }],
  ] as const) {
    for (const isWhole of [true, false]) {
      const requestId = `req_${model}_${JSON.stringify(whole).length}_${isWhole}`
      const generation = { requestId, model, messages: [userMessage('Hi')] }
      answer = isWhole ? answers(200, whole) : streams(`data: ${JSON.stringify(event)}\n\n`)
      const asked = isWhole
        ? inference.generate({ generation }, options)
        : Array.fromAsync(inference.streamGenerate({ generation }, options))
      await assert.rejects(asked, { code: Code.Unavailable })
      const found = (await usage.getGeneration({ requestId }, options)).generation ?? assert.fail(requestId)
      assert.equal(found.status, GenerationRecord_Status.FAILED)
      assert.deepEqual([found.usage?.inputTokens, found.usage?.outputTokens], [40n, 900n], requestId)
      assert.equal(found.costNanos, 40n + 2n * 900n)
    }
  }
})

test('a call that throws at once closes its row, and the next one is admitted', async (context) => {
  const models = [{ id: 'gpt', displayName: 'gpt', pricing }]
  const address = { baseUrl: 'http://127.0.0.1:9', apiKey: undefined, headers: {} }
  const provider = { id: 'p', protocol: 'openai', ...address, models } as const
  await using service = await openInference({ providers: [provider], defaultModel: 'p/gpt' })
  await using connection = await connectLocal(service.routes)
  const inference = createClient(InferenceService, connection.transport)
  const usage = createClient(UsageService, connection.transport)
  for (const form of ['generate', 'stream'] as const) {
    context.mock.method(OpenaiProvider.prototype, form, () => {
      throw new TypeError('This is a bug')
    })
  }
  const terms = { concurrentRequests: 1 }
  for (const requestId of ['whole', 'streamed']) {
    const generation = { requestId, messages: [userMessage('Hi')], maxOutputTokens: 100 }
    const asked =
      requestId === 'whole'
        ? inference.generate({ generation, terms }, options)
        : Array.fromAsync(inference.streamGenerate({ generation, terms }, options))
    await assert.rejects(asked, { code: Code.Internal })
    const found = (await usage.getGeneration({ requestId }, options)).generation
    assert.deepEqual([found?.status, found?.error], [GenerationRecord_Status.FAILED, 'INTERNAL'])
    const { keys } = await usage.getKeyUsage({ keyIds: ['key_1'] }, options)
    assert.equal(keys[0]?.spending?.reservedNanos, 0n)
  }
})

test('a caller that hung up before the provider was called pays nothing; one that hung up later pays for the input', async () => {
  for (const [isLate, inputTokens] of [
    [false, undefined],
    [true, 7n],
  ] as const) {
    const caller = new AbortController()
    const closings: LedgerClosing[] = []
    const next = async (): Promise<never> => {
      caller.abort()
      throw caller.signal.reason
    }
    const generation = {
      ...{ input: { principal, caller: caller.signal, request: generationRequest() }, warnings: [] },
      ...{ meter: new Meter(pricing, 7n), deadline: settled },
      batches: { [Symbol.asyncIterator]: () => ({ next }) },
    } as unknown as Generation
    if (!isLate) caller.abort()
    closeRow(generation, {
      closer: { close: async (closing: LedgerClosing) => void closings.push(closing) },
      ...{ keeper, clock: systemClock },
    } as unknown as GenerationDependencies)
    await assert.rejects(async () => {
      for await (const _ of generation.answer);
    })
    const [{ status, usage, costNanos } = assert.fail()] = closings
    assert.deepEqual(
      [status, usage?.inputTokens, costNanos],
      [GenerationRecord_Status.ABORTED, inputTokens, inputTokens ?? 0n],
    )
  }
})

test('a row is settled as lost if its usage is unknown', async () => {
  const abandoned: unknown[] = []
  const meter = new Meter(pricing, 7n)
  Object.defineProperty(meter, 'costNanos', {
    get() {
      throw new RangeError('Not a number')
    },
  })
  const request = generationRequest()
  const batch = [{ event: { case: 'finished', value: { reason: FinishReason.STOP, rawReason: 'stop' } } }]
  const generation = {
    ...{ input: { principal, caller: new AbortController().signal, request }, warnings: [], meter, deadline: settled },
    ...{ endpoint: { providerId: 'p', modelId: 'm' }, batches: Readable.from([batch]) },
  } as unknown as Generation
  closeRow(generation, {
    ...{ closer: { close: () => assert.fail() }, keeper, clock: systemClock, logger: silentLogger },
    ledger: { abandon: (...row: unknown[]) => void abandoned.push(row) },
  } as unknown as GenerationDependencies)
  await assert.rejects(async () => {
    for await (const _ of generation.answer);
  }, RangeError)
  assert.deepEqual(abandoned, [['wrk_1', request.requestId, true]])
})
