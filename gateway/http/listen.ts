import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { ConfigError } from '#shared/config/config-error.ts'
import type { Leaving } from '#shared/process/leave.ts'
import { listenProblem } from '#shared/process/listen-problem.ts'
import { Rejection } from '#shared/rejection.ts'
import { stopCallOf } from '../call.ts'
import type { Config } from '../config.ts'
import { publicError } from '../errors/public-error.ts'
import { familyOf } from '../family.ts'
import { createHttpServer } from './http-server.ts'
import { Lifecycle, SHARE_OF_STOP } from './lifecycle.ts'
import { JSON_HEADERS } from './respond.ts'
import { answerOnWire } from './wire-errors.ts'

/** How often a draining port closes idle connections, in milliseconds. */
const SWEEP_MS = 50

/**
 * How long to wait for requests that were cut off, in milliseconds: one that was never begun on its connection may not
 * report its end.
 */
const CUT_MS = 100

/** Answers requests; `next` is called for one that it does not. */
export type App = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => unknown

/** The facade's port. Disposal drains it with no time for what is open. */
export interface Listener extends Required<Leaving>, AsyncDisposable {
  readonly port: number
  /** Reaches the server from this machine. */
  readonly url: string
  readonly lifecycle: Lifecycle
  /** Answers requests from now on. */
  serve(app: App): void
}

/**
 * Binds the port. Until {@link Listener.serve} is called, every request is answered with 503: a server that is still
 * starting refuses, it never hangs. Unready, it closes each connection with its answer. Draining, it closes the port,
 * ends streams with a `retry:` and lets other requests end. A port in use is an error that names the setting.
 */
export async function listen(config: Config, logger: Logger): Promise<Listener> {
  const lifecycle = new Lifecycle()
  let app: App = answerStarting
  const open = new Set<ServerResponse>()
  const server = createHttpServer((request, response) => {
    if (lifecycle.state === 'draining') response.shouldKeepAlive = false
    open.add(response)
    response.once('close', () => open.delete(response))
    // Express makes a handler of its own where it is given none.
    app(request, response, (error) => {
      // Its router passes on a request whose address it cannot read.
      if (error === undefined) return answerOnWire({ target: request.url }, request.socket)
      logger.error({ err: error }, 'A request got no response')
      response.destroy()
    })
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, config)))
    server.listen(config.port, config.host, resolve)
  })
  const unready = (): void => {
    lifecycle.unready()
    for (const response of open) response.shouldKeepAlive = false
  }
  const close = async (ms: number): Promise<void> => {
    unready()
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    lifecycle.drain(ms)
    const stop = setTimeout(() => {
      for (const response of open) stopCallOf(response)
    }, SHARE_OF_STOP * ms)
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      // To node:http, a connection that never had a request is not idle.
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_MS)
    const cut = setTimeout(() => {
      logger.warn('Requests were aborted: they did not finish in time')
      server.closeAllConnections()
    }, ms)
    await closed
    // Requests that were cut off are notified a moment later, before the things that they use are closed.
    const over = [...open].map((response) => new Promise<void>((resolve) => response.once('close', resolve)))
    await Promise.race([Promise.all(over), sleep(CUT_MS)])
    clearInterval(sweep)
    clearTimeout(stop)
    clearTimeout(cut)
  }
  let drained: Promise<void> | undefined
  const drain = (ms: number): Promise<void> => {
    drained ??= close(ms)
    return drained
  }
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${reachableName(config.host)}:${port}`,
    lifecycle,
    serve(listener) {
      app = listener
      lifecycle.ready()
    },
    unready,
    drain,
    [Symbol.asyncDispose]: () => drain(0),
  }
}

function reachableName(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function explain(error: NodeJS.ErrnoException, config: Config): Error {
  if (error.code === 'EADDRINUSE') return new PortInUseError(config)
  return listenProblem(error, { ...config, hostSetting: 'PORTICO_HOST', portSetting: 'PORTICO_PORT' })
}

/** The port is taken. Reported in one line, since other agent servers use port 4096 too. */
class PortInUseError extends ConfigError {
  constructor({ host, port }: Config) {
    super([{ variable: 'PORTICO_PORT', problem: 'is in use' }])
    this.message = `Port ${port} on ${host} is in use: set PORTICO_PORT to another one`
  }
}

function answerStarting(request: IncomingMessage, response: ServerResponse): void {
  const send = (status: number, body: unknown, headers: readonly string[] = []): void =>
    void response.writeHead(status, [...JSON_HEADERS, ...headers]).end(JSON.stringify(body))
  const { url = '' } = request
  const { status, body, headers } = publicError(familyOf(url), new Rejection('NOT_READY'))
  if (url === '/livez') send(200, { status: 'alive' })
  else send(status, url === '/readyz' ? { status: 'starting' } : body, headers)
}
