import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openInference, operator, plain, userMessage } from '#test/support/inference.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`${name}: a generation comes whole: its parts in order, why it ended, usage and cost`, async () => {
    await using service = await openInference()
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    const ask = (requestId: string, text: string) =>
      client.generate(
        { generation: { requestId, messages: [userMessage(text)] } },
        callOptions({ principal: operator }),
      )
    const { generation } = await ask('req_1', '/reasoning hm so\nHello there')
    const text = 'This is portico/echo, the built-in model that needs no network. You said: Hello there'
    const thought = { text: 'hm so', summary: '', signature: '', encrypted: '', id: '' }
    assert.deepEqual(plain(generation), {
      model: 'portico/echo',
      providerId: 'portico',
      parts: [{ part: { case: 'reasoning', value: thought } }, { part: { case: 'text', value: { text } } }],
      warnings: [],
      sources: [],
      reason: 1,
      rawReason: 'stop',
      usage: { inputTokens: 5n, outputTokens: 16n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 2n },
      costNanos: 0n,
      outputCostNanos: 0n,
    })
    assert.equal((await refusalOf(ask('req_1', 'Hello'))).reason, 'REQUEST_DUPLICATE')
    const { reason, metadata } = await refusalOf(ask('req_2', '/fail 429'))
    assert.deepEqual([reason, metadata.status], ['PROVIDER_RATE_LIMITED', '429'])
    const missing = await refusalOf(client.generate({}, callOptions({ principal: operator })))
    assert.deepEqual([missing.reason, missing.metadata.field], ['GENERATION_INVALID', 'generation'])
  })
})
