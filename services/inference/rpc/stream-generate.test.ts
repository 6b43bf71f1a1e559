import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@connectrpc/connect'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { callOptions } from '#shared/call-context.ts'
import { createLocalTransport } from '#shared/local-transport.ts'
import { openInference, operator, plain, userMessage } from '#test/support/inference.ts'

test('started, the parts and finished come in order, with usage and cost at the end', async () => {
  await using service = await openInference()
  const client = createClient(InferenceService, createLocalTransport(service.routes))
  const request = { requestId: 'req_1', messages: [userMessage('/reasoning hm so\nHello there')] }
  const events: unknown[] = []
  for await (const message of client.streamGenerate(request, callOptions({ principal: operator }))) {
    events.push(...message.events.map(({ event }) => plain(event)))
  }
  const said = ['This ', 'is ', 'portico/echo, ', 'the ', 'built-in ', 'model ', 'that ', 'needs ', 'no ', 'network. ']
  const words = [...said, 'You ', 'said: ', 'Hello ', 'there']
  const noReasoning = { summary: '', signature: '', encrypted: '', id: '' }
  assert.deepEqual(events, [
    { case: 'started', value: { model: 'portico/echo', providerId: 'portico' } },
    { case: 'partStarted', value: { index: 0, kind: 2, callId: '', toolName: '' } },
    { case: 'partExtended', value: { index: 0, text: 'hm ' } },
    { case: 'partExtended', value: { index: 0, text: 'so' } },
    {
      case: 'partEnded',
      value: { index: 0, part: { part: { case: 'reasoning', value: { text: 'hm so', ...noReasoning } } } },
    },
    { case: 'partStarted', value: { index: 1, kind: 1, callId: '', toolName: '' } },
    ...words.map((text) => ({ case: 'partExtended', value: { index: 1, text } })),
    { case: 'partEnded', value: { index: 1, part: { part: { case: 'text', value: { text: words.join('') } } } } },
    {
      case: 'finished',
      value: {
        reason: 1,
        rawReason: 'stop',
        usage: { inputTokens: 5n, outputTokens: 16n, cacheReadTokens: 0n, cacheWriteTokens: 0n, reasoningTokens: 2n },
        costNanos: 0n,
      },
    },
  ])
})
