import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createGrpcTransport, createGrpcWebTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { type ServiceError, status } from '@grpc/grpc-js'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { SECRET_HEADER } from '#shared/rpc/call-metadata.ts'
import { createGrpcJsClient } from '#test/support/grpc-js.ts'
import { testSecret } from '#test/support/transports.ts'
import { event, gate, numberOf, probe } from './probe.ts'
import { serveRoutes } from './server.ts'

const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' } as const
const { getSession, streamEvents, listSessions } = SessionService.method

test('a stock gRPC client makes a unary and a streaming call, and receives rejections', async () => {
  await using server = await serveRoutes(
    probe({
      getSession: ({ sessionId }, context) => ({ session: { sessionId, title: principalOf(context).workspaceId } }),
      listSessions: () => {
        throw new Rejection('SESSION_NOT_FOUND', { sessionId: 'ses_1' })
      },
      async *streamEvents() {
        for (let sent = 0; sent < 100; sent++) yield event(sent)
      },
    }),
  )
  using client = createGrpcJsClient(server.url, { principal })
  assert.equal((await client.unary(getSession, { sessionId: 'ses_1' })).session?.title, 'wrk_1')
  let count = 0
  for await (const message of client.stream(streamEvents, {})) assert.equal(numberOf(message), count++)
  assert.equal(count, 100)
  await assert.rejects(client.unary(listSessions, {}), (error: ServiceError) => {
    assert.equal(error.code, status.NOT_FOUND)
    assert.equal(error.details, 'Session ses_1 not found')
    assert.equal(error.metadata.get('grpc-status-details-bin').length, 1)
    return true
  })
})

test('a stock gRPC client that leaves a stream aborts its handler', async () => {
  const aborted = gate()
  await using server = await serveRoutes(
    probe({
      async *streamEvents(_, { signal }) {
        signal.addEventListener('abort', () => aborted.resolve())
        for (let sent = 0; ; sent++) {
          yield event(sent)
          await new Promise(setImmediate)
        }
      },
    }),
  )
  using client = createGrpcJsClient(server.url)
  for await (const _ of client.stream(streamEvents, {})) break
  await aborted.promise
})

for (const [name, create] of [
  ['gRPC', createGrpcTransport],
  ['gRPC-web', createGrpcWebTransport],
] as const) {
  test(`${name} is spoken on the same port`, async () => {
    await using server = await serveRoutes(
      probe({
        getSession: () => {
          throw new Rejection('SESSION_NOT_FOUND', { sessionId: 'ses_1' })
        },
        async *streamEvents() {
          yield event(7)
        },
      }),
    )
    const sessionManager = new Http2SessionManager(server.url)
    const client = createClient(SessionService, create({ baseUrl: server.url, httpVersion: '2', sessionManager }))
    const headers = { [SECRET_HEADER]: testSecret }
    for await (const message of client.streamEvents({}, { headers })) assert.equal(numberOf(message), 7)
    await assert.rejects(client.getSession({}, { headers }), (error) => reasonOf(error)?.reason === 'SESSION_NOT_FOUND')
    sessionManager.abort()
  })
}

test('reflection, if it is turned on, gives callers with the secret the schema of the services', async () => {
  await using server = await serveRoutes(probe({}), { reflection: true })
  await using silent = await serveRoutes(probe({}))
  const ask = async (url: string, headers: Record<string, string>) => {
    const sessionManager = new Http2SessionManager(url)
    const client = createClient(ServerReflection, createGrpcTransport({ baseUrl: url, sessionManager }))
    try {
      const answers = []
      const questions = (async function* () {
        yield { messageRequest: { case: 'listServices' as const, value: '' } }
        yield { messageRequest: { case: 'fileContainingSymbol' as const, value: SessionService.typeName } }
        yield { messageRequest: { case: 'fileContainingSymbol' as const, value: 'no.such.Thing' } }
      })()
      for await (const { messageResponse } of client.serverReflectionInfo(questions, { headers }))
        answers.push(messageResponse)
      return answers
    } finally {
      sessionManager.abort()
    }
  }
  const [services, files, missing] = await ask(server.url, { [SECRET_HEADER]: testSecret })
  assert.ok(services?.case === 'listServicesResponse')
  assert.deepEqual(
    services.value.service.map(({ name }) => name),
    [SessionService.typeName],
  )
  assert.ok(files?.case === 'fileDescriptorResponse')
  const names = files.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name)
  assert.equal(names[0], 'portico/session/v1/session_service.proto')
  assert.ok(names.includes('google/protobuf/struct.proto'))
  assert.ok(missing?.case === 'errorResponse' && missing.value.errorCode === status.NOT_FOUND)
  const isCode = (code: Code) => (error: unknown) => error instanceof ConnectError && error.code === code
  await assert.rejects(ask(server.url, {}), isCode(Code.Unauthenticated))
  await assert.rejects(ask(silent.url, { [SECRET_HEADER]: testSecret }), isCode(Code.Unimplemented))
})
