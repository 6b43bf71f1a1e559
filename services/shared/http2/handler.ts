import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerRequest } from '@connectrpc/connect/protocol'
import type { Logger } from 'pino'
import { peerVariable } from '#shared/config/variables.ts'
import { sendAnswer } from '#shared/http2/answer.ts'
import { incomingValues } from '#shared/rpc/call-context.ts'
import { Complaint } from '#shared/telemetry/complaint.ts'

/** Handles the streams of an HTTP/2 server, and counts those in progress. */
export interface Http2Handler {
  handle(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void
  /** Resolves when nothing is in progress any more, or after the given time. */
  idle(timeoutMs: number): Promise<void>
}

/**
 * Passes the streams of an HTTP/2 server to a router, with `draining` among the context values. It replaces
 * connect-node's adapter, which uses Node's emulation of HTTP/1 and waits for ever if a caller hangs up while the
 * handler is ahead of it. A caller that hangs up is not an error.
 */
export function createHttp2Handler(router: ConnectRouter, draining: AbortSignal, logger: Logger): Http2Handler {
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
  const complain = complaintsOfOutsiders(logger)
  let active = 0
  let notifyIdle = (): void => {}
  const settled = (): void => {
    active -= 1
    if (active === 0) notifyIdle()
  }
  return {
    handle(stream, headers) {
      active += 1
      stream.once('close', settled)
      // The handler is notified by the stream's close event; an error adds nothing to that.
      stream.on('error', () => {})
      const handler = handlers.get(pathOf(headers))
      if (handler === undefined) {
        complain(pathOf(headers))
        stream.respond({ ':status': 404 }, { endStream: true })
        return
      }
      answer(handler, stream, headers, draining).catch((error: unknown) => {
        if (stream.destroyed) return
        logger.error({ err: error, path: headers[':path'] }, 'A call got no response')
        stream.destroy()
      })
    },
    idle(timeoutMs) {
      if (active === 0) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, timeoutMs)
        notifyIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
  }
}

/** Whoever calls a service of Portico that is not served here has the wrong address. */
function complaintsOfOutsiders(logger: Logger): (path: string) => void {
  const complaints = new Map<string, Complaint>()
  return (path) => {
    const [, service] = /^\/portico\.(session|catalog|inference|identity)\./.exec(path) ?? []
    if (service === undefined) return
    const what = `Calls for the ${service} service arrive here: the caller's ${peerVariable(service)} is wrong`
    const complaint = complaints.get(service) ?? new Complaint(logger, what)
    complaints.set(service, complaint)
    complaint.happened()
  }
}

async function answer(
  handler: UniversalHandler,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  draining: AbortSignal,
): Promise<void> {
  const hungUp = new AbortController()
  stream.once('close', () => hungUp.abort(new ConnectError('The caller hung up', Code.Canceled)))
  await sendAnswer(stream, await handler(requestOf(stream, headers, hungUp.signal, draining)))
}

function requestOf(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  signal: AbortSignal,
  draining: AbortSignal,
): UniversalServerRequest {
  const header = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':')) header.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  return {
    httpVersion: '2.0',
    method: headers[':method'] ?? '',
    url: `http://${headers[':authority'] ?? 'localhost'}${headers[':path'] ?? '/'}`,
    header,
    // A handler that stops reading must still be able to send a response.
    body: stream.iterator({ destroyOnReturn: false }),
    signal,
    contextValues: incomingValues(draining),
  }
}

function pathOf(headers: IncomingHttpHeaders): string {
  const path = headers[':path'] ?? ''
  const query = path.indexOf('?')
  return query === -1 ? path : path.slice(0, query)
}
