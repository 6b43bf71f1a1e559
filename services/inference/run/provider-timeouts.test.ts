import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openInference, userMessage } from '#test/support/inference.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { chunk } from '#test/support/responses.ts'
import { connectLocal } from '#test/support/transports.ts'

const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' } as const

test('a request may give its provider less time than the server does: in all, for a beginning, between two pieces', async () => {
  const silent = (): void => {}
  const begun = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'Hello' }))
  }
  let answer: (response: ServerResponse) => void = silent
  await using stub = await startStub((response) => answer(response))
  const models = [{ id: 'm', displayName: 'm' }]
  const shared = { baseUrl: stub.url, apiKey: undefined, headers: {}, models }
  const protocols = ['openai', 'openai-responses', 'anthropic'] as const
  const providers = protocols.map((protocol) => ({ ...shared, id: protocol, protocol }))
  await using service = await openInference({ providers, generationTimeoutMs: 60_000 })
  await using connection = await connectLocal(service.routes)
  const inference = createClient(InferenceService, connection.transport)
  for (const protocol of protocols) {
    for (const [providerTimeouts, says] of [
      [{ totalMs: 40 }, silent],
      [{ totalMs: 40 }, begun],
      [{ headersMs: 40 }, silent],
      [{ chunkMs: 40 }, begun],
    ] as const) {
      answer = says
      const generation = { requestId: randomUUID(), model: `${protocol}/m`, messages: [userMessage('Hi')] }
      const asked = inference.streamGenerate(
        { generation: { ...generation, providerTimeouts } },
        callOptions({ principal }),
      )
      await assert.rejects(Array.fromAsync(asked), /took too long|timeout|in time/i, JSON.stringify(providerTimeouts))
    }
  }
})
