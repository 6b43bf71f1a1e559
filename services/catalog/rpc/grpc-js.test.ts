import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import {
  CatalogService,
  ListAgentsRequestSchema,
  ListAgentsResponseSchema,
  RunToolRequestSchema,
  RunToolResponseSchema,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { serve } from '#shared/process/serve.ts'
import { headersOfContext, SECRET_HEADER } from '#shared/rpc/call-metadata.ts'
import { openCatalog } from '#test/support/catalog.ts'
import { silentLogger, testSecret } from '#test/support/transports.ts'

const codec = <D extends DescMessage>(desc: D) => ({
  write: (message: MessageInitShape<D>) => Buffer.from(toBinary(desc, create(desc, message))),
  read: (bytes: Buffer) => fromBinary(desc, bytes),
})

test('a stock grpc-js client lists agents and runs a tool', async () => {
  await using catalog = await openCatalog()
  const options = { host: '127.0.0.1', port: 0, secret: testSecret, logger: silentLogger }
  await using server = await serve({ ...options, routes: [catalog.routes] })
  const client = new Client(new URL(server.url).host, credentials.createInsecure())
  const metadata = new Metadata()
  const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: '', kind: 'local-operator' } as const
  for (const [name, value] of Object.entries(headersOfContext({ principal }))) metadata.set(name, value)
  metadata.set(SECRET_HEADER, testSecret)
  const path = (method: { name: string }) => `/${CatalogService.typeName}/${method.name}`
  try {
    const list = Promise.withResolvers<string[]>()
    const [request, response] = [codec(ListAgentsRequestSchema), codec(ListAgentsResponseSchema)]
    const onAnswer = (error: ServiceError | null, answer?: ReturnType<typeof response.read>): void => {
      if (error !== null) list.reject(error)
      else list.resolve(answer?.agents.map(({ agentId }) => agentId) ?? [])
    }
    client.makeUnaryRequest(
      path(CatalogService.method.listAgents),
      request.write,
      response.read,
      {},
      metadata,
      onAnswer,
    )
    assert.equal((await list.promise)[0], 'build')

    const [run, event] = [codec(RunToolRequestSchema), codec(RunToolResponseSchema)]
    const call = { sessionId: 'ses_1', callId: 'call_1', fence: 1n, name: 'list', input: {} }
    const message = { ...call, grant: [{ action: 'list', resources: ['.'] }] }
    const stream = client.makeServerStreamRequest(
      path(CatalogService.method.runTool),
      run.write,
      event.read,
      message,
      metadata,
    )
    const events: (string | undefined)[] = []
    for await (const { event } of stream) events.push(event.case)
    assert.deepEqual(events, ['completed'])
  } finally {
    client.close()
  }
})
