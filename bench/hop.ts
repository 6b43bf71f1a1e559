// The cost of a hop between services: CPU time of both ends per call, for each transport, a plain function call and the
// references, in one process and interleaved. Usage: node bench/hop.ts [ROUNDS]

import { promisify } from 'node:util'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { createClient as createConnectClient, createRouterTransport, type Transport } from '@connectrpc/connect'
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js'
import { ExportResultCode } from '@opentelemetry/core'
import { BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace'
import {
  type GetSessionRequest,
  GetSessionRequestSchema,
  type GetSessionResponse,
  GetSessionResponseSchema,
  SessionService,
} from '#gen/portico/session/v1/session_service_pb.js'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { serve } from '#shared/process/serve.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { SECRET_HEADER } from '#shared/rpc/call-metadata.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { startTracing } from '#shared/telemetry/telemetry.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import { createGrpcJsClient } from '#test/support/grpc-js.ts'
import { silentLogger, testSecret } from '#test/support/transports.ts'
import { type Case, compareCases } from './harness/compare-cases.ts'

const ROUNDS = Number(process.argv[2] ?? 7)
const MESSAGES = 1_000
const session = { sessionId: 'ses_1', title: 'x'.repeat(1_000) }
const event = { message: { case: 'event' as const, value: { position: 'x'.repeat(90) } } }

const implementation = {
  getSession: ({ sessionId }: { sessionId: string }) => ({ session: { ...session, sessionId } }),
  async *streamEvents() {
    for (let sent = 0; sent < MESSAGES; sent++) yield event
  },
}
const routes: Routes = { domain: 'session', reasons: {}, services: [route(SessionService, implementation as never)] }

await using stack = new AsyncDisposableStack()
const server = stack.use(
  await serve({ routes: [routes], host: '127.0.0.1', port: 0, secret: testSecret, logger: silentLogger }),
)

// Like the gateway: with a principal, a request id, the signal of a client that is still connected, and a deadline.
const principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' } as const
const options = () =>
  callOptions({ principal, requestId: 'req_1' }, { signal: new AbortController().signal, timeoutMs: 30_000 })

function connectNode(): Transport {
  const sessionManager = new Http2SessionManager(server.url)
  stack.defer(() => sessionManager.abort())
  return createConnectTransport({
    baseUrl: server.url,
    httpVersion: '2',
    acceptCompression: [],
    sessionManager,
    interceptors: [
      (next) => (request) => {
        request.header.set(SECRET_HEADER, testSecret)
        return next(request)
      },
    ],
  })
}

async function grpcJsServer(): Promise<string> {
  const grpc = new Server()
  const { getSession } = SessionService.method
  const answer: handleUnaryCall<GetSessionRequest, GetSessionResponse> = ({ request }, done) =>
    done(null, create(GetSessionResponseSchema, implementation.getSession(request)))
  const definition = {
    path: `/${SessionService.typeName}/${getSession.name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: GetSessionRequest) => Buffer.from(toBinary(GetSessionRequestSchema, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(GetSessionRequestSchema, bytes),
    responseSerialize: (message: GetSessionResponse) => Buffer.from(toBinary(GetSessionResponseSchema, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(GetSessionResponseSchema, bytes),
  } as const
  grpc.addService({ getSession: definition }, { getSession: answer })
  const bind = promisify(grpc.bindAsync.bind(grpc))
  const port = await bind('127.0.0.1:0', ServerCredentials.createInsecure())
  stack.defer(() => grpc.forceShutdown())
  return `http://127.0.0.1:${port}`
}

const local = createClient(SessionService, createLocalTransport(routes))
const router = createConnectClient(
  SessionService,
  createRouterTransport(({ service }) => void service(SessionService, implementation as never)),
)
const http2 = createClient(SessionService, stack.use(createHttp2Transport({ url: server.url, secret: testSecret })))
const connect = createConnectClient(SessionService, connectNode())
const grpcMixed = stack.use(createGrpcJsClient(server.url))
const grpcBoth = stack.use(createGrpcJsClient(await grpcJsServer()))
const { getSession } = SessionService.method

const drain = async (stream: AsyncIterable<unknown>): Promise<void> => {
  let count = 0
  for await (const _ of stream) count++
  if (count !== MESSAGES) throw new Error(`${count} messages`)
}
const plain = async (sessionId: string) => create(GetSessionResponseSchema, implementation.getSession({ sessionId }))

const unary: readonly Case[] = [
  { name: 'plain async function', calls: 100_000, concurrency: 1, run: () => plain('ses_1') },
  {
    name: 'local transport',
    calls: 50_000,
    concurrency: 1,
    run: () => local.getSession({ sessionId: 'ses_1' }, options()),
  },
  {
    name: 'connect router transport',
    calls: 3_000,
    concurrency: 1,
    run: () => router.getSession({ sessionId: 'ses_1' }, options()),
  },
  {
    name: 'HTTP/2, our client',
    calls: 5_000,
    concurrency: 16,
    run: () => http2.getSession({ sessionId: 'ses_1' }, options()),
  },
  {
    name: 'HTTP/2, connect-node client',
    calls: 3_000,
    concurrency: 16,
    run: () => connect.getSession({ sessionId: 'ses_1' }, options()),
  },
  {
    name: 'HTTP/2, grpc-js client',
    calls: 3_000,
    concurrency: 16,
    run: () => grpcMixed.unary(getSession, { sessionId: 'ses_1' }),
  },
  {
    name: 'grpc-js on both ends',
    calls: 3_000,
    concurrency: 16,
    run: () => grpcBoth.unary(getSession, { sessionId: 'ses_1' }),
  },
]
const streams: readonly Case[] = [
  { name: 'local transport', calls: 50, concurrency: 1, run: () => drain(local.streamEvents({}, options())) },
  { name: 'connect router transport', calls: 4, concurrency: 1, run: () => drain(router.streamEvents({}, options())) },
  { name: 'HTTP/2, our client', calls: 8, concurrency: 1, run: () => drain(http2.streamEvents({}, options())) },
  {
    name: 'HTTP/2, connect-node client',
    calls: 8,
    concurrency: 1,
    run: () => drain(connect.streamEvents({}, options())),
  },
  {
    name: 'HTTP/2, grpc-js client',
    calls: 8,
    concurrency: 1,
    run: () => drain(grpcMixed.stream(SessionService.method.streamEvents, {})),
  },
]

await compareCases('Unary call, answer of 1 KB', unary, ROUNDS)
await compareCases(`Message of 100 bytes in a stream of ${MESSAGES}`, streams, ROUNDS, MESSAGES)

// Traced as in production, except that spans are discarded instead of sent. Within a span, like every call of the
// facade.
const exporter: SpanExporter = {
  export: (_, done) => done({ code: ExportResultCode.SUCCESS }),
  shutdown: async () => {},
}
stack.use(await startTracing('bench', new BatchSpanProcessor({ exporter, maxQueueSize: 1_000_000 })))
const traced = unary
  .filter(({ name }) => /plain|local|our client/.test(name))
  .map((each) => ({ ...each, run: () => inSpan('facade', {}, each.run) }))
await compareCases('Unary call, traced, with the span around it', traced, ROUNDS)
