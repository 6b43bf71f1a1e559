import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { ConfigError } from '#shared/config.ts'
import type { Config } from './config.ts'
import { createHttpServer } from './http-server.ts'
import { Lifecycle } from './lifecycle.ts'

/** The facade's port. */
export interface Listener extends AsyncDisposable {
  readonly port: number
  /** Reaches the server from this machine. */
  readonly url: string
  readonly lifecycle: Lifecycle
  /** Answers requests from now on. */
  serve(app: RequestListener): void
}

/**
 * Binds the port. Until {@link Listener.serve} is called, every request is answered with 503: a server that is still
 * starting refuses, it never hangs. Disposing ends streams with a `retry:`, lets other requests end within `drainMs`,
 * and closes. A port in use is an error that names the setting.
 */
export async function listen(config: Config, logger: Logger): Promise<Listener> {
  const lifecycle = new Lifecycle()
  let app: RequestListener = answerStarting
  const server = createHttpServer((request, response) => app(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, config)))
    server.listen(config.port, config.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${reachableName(config.host)}:${port}`,
    lifecycle,
    serve(listener) {
      app = listener
      lifecycle.ready()
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      lifecycle.drain()
      const sweep = setInterval(() => server.closeIdleConnections(), 50)
      const cut = setTimeout(() => {
        logger.warn('requests were cut off: they did not end in time')
        server.closeAllConnections()
      }, config.drainMs)
      await closed
      clearInterval(sweep)
      clearTimeout(cut)
    },
  }
}

function reachableName(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function explain(error: NodeJS.ErrnoException, config: Config): Error {
  if (error.code === 'EADDRINUSE') return new PortInUseError(config)
  return new ConfigError([{ variable: 'PORTICO_HOST', problem: `${config.host} cannot be listened on: ${error.code}` }])
}

/** Somebody else listens there. Told in one line: other agent servers use port 4096 too. */
class PortInUseError extends ConfigError {
  constructor({ host, port }: Config) {
    super([{ variable: 'PORTICO_PORT', problem: 'is in use' }])
    this.message = `Port ${port} of ${host} is in use: set PORTICO_PORT to another one`
  }
}

function answerStarting(request: IncomingMessage, response: ServerResponse): void {
  const live = request.url === '/livez'
  const message = 'The server is starting'
  const body = request.url?.startsWith('/api/v1')
    ? { error: { code: 503, message } }
    : { _tag: 'ServiceUnavailableError', message }
  const text = JSON.stringify(live ? { status: 'alive' } : request.url === '/readyz' ? { status: 'starting' } : body)
  response.writeHead(live ? 200 : 503, { 'content-type': 'application/json; charset=utf-8', 'retry-after': '1' })
  response.end(text)
}
