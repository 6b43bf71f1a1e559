import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node'
import type { Logger } from 'pino'
import { incomingValues } from '#shared/call-context.ts'

/** Takes the requests of an HTTP/2 server and knows how many are being answered. */
export interface Http2Handler {
  handle(request: Http2ServerRequest, response: Http2ServerResponse): void
  /** Resolves when nothing is being answered, or after the time given. */
  idle(timeoutMs: number): Promise<void>
}

/** Gives requests to a router, with `draining` among their context values. A caller that hangs up is not an error. */
export function createHttp2Handler(router: ConnectRouter, draining: AbortSignal, logger: Logger): Http2Handler {
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
  let active = 0
  let notifyIdle = (): void => {}
  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const handler = handlers.get(request.url.split('?', 1)[0] ?? '')
    if (handler === undefined) {
      response.writeHead(404).end()
      return
    }
    const values = incomingValues(draining)
    const answered = await handler(universalRequestFromNodeRequest(request, response, undefined, values))
    await universalResponseToNodeResponse(answered, response)
  }
  return {
    handle(request, response) {
      active += 1
      response.once('close', () => {
        active -= 1
        if (active === 0) notifyIdle()
      })
      answer(request, response).catch((error: unknown) => {
        const { code } = ConnectError.from(error)
        if (code === Code.Aborted || code === Code.Canceled || response.stream?.destroyed !== false) return
        logger.error({ err: error, path: request.url }, 'A call could not be answered')
        response.stream.close()
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
