import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type DescMethod, type DescService, getOption, hasOption } from '@bufbuild/protobuf'
import {
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  type MethodImpl,
  type ServiceImpl,
} from '@connectrpc/connect'
import type { Logger } from 'pino'
import { most_request_bytes } from '#gen/portico/options/v1/limit_pb.js'
import { createHttp2Handler } from '#shared/http2/handler.ts'
import { keepAlive, PEER_KEEP_ALIVE } from '#shared/http2/keep-alive.ts'
import type { Leaving } from '#shared/process/leave.ts'
import { listenProblem } from '#shared/process/listen-problem.ts'
import { toConnectError } from '#shared/reasons.ts'
import { secretGate } from '#shared/rpc/call-metadata.ts'
import { createHealth } from '#shared/rpc/health.ts'
import { CONNECTION_MEMORY_MEGABYTES, MAX_MESSAGE_BYTES } from '#shared/rpc/limits.ts'
import { rejectInterceptor } from '#shared/rpc/reject-interceptor.ts'
import type { Routes, ServiceRoute } from '#shared/rpc/routes.ts'
import { scopeInterceptor } from '#shared/rpc/rpc-span.ts'
import { closingReasons, serviceClosing } from '#shared/rpc/server-reasons.ts'

/** How routes are served to other processes. */
export interface ServeOptions {
  readonly routes: readonly Routes[]
  readonly host: string
  /** 0 lets the system choose a free port. */
  readonly port: number
  /** The secret that callers must send; see `secretGate`. Health requires none. */
  readonly secret: string
  readonly logger: Logger
  /** Whether to serve grpc.reflection.v1 to callers with the secret. Default: false. */
  readonly reflection?: boolean
}

/** A running server. Disposal drains it, and leaves no time for what is in progress. */
export interface Server extends Required<Leaving>, AsyncDisposable {
  readonly url: string
}

const ABORT_GRACE_MS = 1_000

/**
 * Serves routes over HTTP/2 without TLS: Connect, gRPC and gRPC-web on one port, with grpc.health.v1. Messages above 64
 * MiB are refused, but for methods with a limit of their own; nothing is compressed. Throws a ConfigError if it cannot
 * listen there. When unready, it reports NOT_SERVING. When draining, it closes its port, sends GOAWAY and lets calls
 * finish (subscriptions end at once, see `drainSignalOf`). Then it aborts the signal of the remaining calls, and
 * closes.
 */
export async function serve(options: ServeOptions): Promise<Server> {
  const health = createHealth(options.routes)
  const draining = new AbortController()
  const shutdown = new AbortController()
  const router = createConnectRouter({
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
    shutdownSignal: shutdown.signal,
  })
  await register(router, options)
  mount(router, health.route)

  const handler = createHttp2Handler(router, draining.signal, options.logger)
  const server = createServer({ maxSessionMemory: CONNECTION_MEMORY_MEGABYTES })
  server.on('stream', handler.handle)
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
    // Calls from a machine that vanished are aborted.
    keepAlive(session, PEER_KEEP_ALIVE)
    session.on('error', (error) => options.logger.debug({ err: error }, 'A connection failed'))
  })
  await listen(server, options)

  const close = async (ms: number): Promise<void> => {
    health.stop()
    draining.abort(serviceClosing())
    const closed = new Promise((resolve) => server.close(resolve))
    for (const session of sessions) session.close()
    await handler.idle(ms)
    shutdown.abort(toConnectError(serviceClosing(), 'server', closingReasons))
    await handler.idle(ABORT_GRACE_MS)
    for (const session of sessions) session.destroy()
    await closed
  }
  let drained: Promise<void> | undefined
  const drain = (ms: number): Promise<void> => {
    drained ??= close(ms)
    return drained
  }
  return {
    url: urlOf(server),
    unready: () => health.stop(),
    drain,
    [Symbol.asyncDispose]: () => drain(0),
  }
}

async function register(
  router: ConnectRouter,
  { routes: all, secret, logger, reflection }: ServeOptions,
): Promise<void> {
  const requestGate = secretGate(secret, logger)
  for (const routes of all) {
    const interceptors = [scopeInterceptor, rejectInterceptor(routes, logger)]
    for (const each of routes.services) mount(router, each, { requestGate, interceptors })
  }
  if (reflection !== true) return
  const { createReflection } = await import('#shared/rpc/reflection.ts')
  mount(router, createReflection(all.flatMap(({ services }) => services)), { requestGate })
}

function mount(router: ConnectRouter, { service, implementation }: ServiceRoute, options?: ConnectRouterOptions): void {
  router.service(service, implementation as Partial<ServiceImpl<DescService>>, options)
  for (const method of service.methods) {
    if (!hasOption(method, most_request_bytes)) continue
    // Of two handlers with one path, the later one is used.
    const own = { ...options, readMaxBytes: getOption(method, most_request_bytes) }
    router.rpc(method, implementation[method.localName] as MethodImpl<DescMethod>, own)
  }
}

async function listen(server: Http2Server, { host, port }: ServeOptions): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const settings = { hostSetting: 'PORTICO_SERVICE_HOST', portSetting: 'PORTICO_SERVICE_PORT' }
    throw listenProblem(error as NodeJS.ErrnoException, { host, port, ...settings })
  }
}

function urlOf(server: Http2Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
