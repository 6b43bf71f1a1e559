import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { reasons } from '#services/identity/reasons.ts'
import { callOptions, type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { openInference, userMessage } from '#test/support/inference.ts'
import { answers, fixture, startStub } from '#test/support/provider-stub.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'
import { sessionDigest } from './steps.ts'

const principal: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }

/** An identity service that counts how often a key is read. */
function countingIdentity() {
  const keys: string[] = []
  const checkApiKey = async (_: unknown, context: Parameters<typeof principalOf>[0]) => {
    keys.push(principalOf(context).apiKeyId)
    return {}
  }
  const services = [{ service: IdentityService, implementation: { checkApiKey } }]
  const routes: Routes = { domain: 'identity', reasons, services }
  return { keys, routes }
}

forEachTransport((name, connect) => {
  test(`${name}: the key of a request is read again unless its authenticated terms came with it`, async () => {
    const identity = countingIdentity()
    await using peer = await connect(identity.routes)
    await using service = await openInference({}, peer.transport)
    await using connection = await connect(service.routes)
    const client = createClient(InferenceService, connection.transport)
    let requests = 0
    const generation = (terms: object | undefined) => {
      const asked = { generation: { requestId: `req_${++requests}`, messages: [userMessage('Hello')] } }
      return terms === undefined ? asked : { ...asked, terms }
    }
    // Terms that are missing, or not authenticated, are read.
    for (const [authenticated, terms, reads] of [
      [true, {}, 0],
      [true, undefined, 2],
      [undefined, {}, 4],
      [undefined, undefined, 6],
    ] as const) {
      const options = callOptions({ principal, authenticated })
      await client.generate(generation(terms), options)
      for await (const _ of client.streamGenerate(generation(terms), options));
      assert.deepEqual(identity.keys, Array(reads).fill('key_1'))
    }
  })
})

test('a provider receives a session only as a salted hash, the same for each of its requests', () => {
  const digest = sessionDigest('wrk_1', 'ses_1')
  assert.equal(sessionDigest('wrk_1', 'ses_1'), digest)
  assert.notEqual(sessionDigest('wrk_2', 'ses_1'), digest)
  assert.match(digest, /^[\w-]{43}$/)
})

test('the first of several endpoints with room for the request serves it; if none has room, the first of all', async () => {
  await using stub = await startStub(answers(200, fixture('openai-text.json')))
  const provider = (id: string, contextLength: number) => {
    const models = [{ id: 'gpt', displayName: 'GPT', contextLength }]
    return { id, protocol: 'openai', baseUrl: stub.url, apiKey: undefined, headers: {}, models } as const
  }
  await using service = await openInference({ providers: [provider('small', 100), provider('large', 1_000)] })
  await using connection = await connectLocal(service.routes)
  const client = createClient(InferenceService, connection.transport)
  const served = async (requestId: string, more: object) => {
    const generation = { requestId, model: 'gpt', messages: [userMessage('Hello')], ...more }
    return (await client.generate({ generation }, callOptions({ principal }))).generation?.providerId
  }
  assert.equal(await served('a', {}), 'small')
  assert.equal(await served('b', { messages: [userMessage('x'.repeat(600))] }), 'large')
  assert.equal(await served('c', { messages: [userMessage('x'.repeat(6_000))] }), 'small')
  assert.equal(await served('d', { maxOutputTokens: 101 }), 'large')
  const { reason, metadata } = await refusalOf(served('e', { maxOutputTokens: 1_001 }))
  const demands = [100, 1_000]
    .map((most) => `max_tokens is 1001, ${most === 100 ? 'small' : 'large'}/gpt gives at most ${most}`)
    .join(', ')
  assert.deepEqual([reason, metadata], ['NO_ENDPOINT', { model: 'small/gpt', demands }])
})
