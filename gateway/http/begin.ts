import type { Request, Response } from 'express'
import { randomId } from '#shared/ids.ts'
import { withRequestId } from '#shared/telemetry/request-scope.ts'
import { openSpan } from '#shared/telemetry/tracing.ts'
import { Call, setCallOf } from '../call.ts'
import type { Facade } from '../facade.ts'
import { familyOf, isAtV1 } from '../family.ts'
import { ClientNetworks } from './client-network.ts'

const REQUEST_ID = /^[\w.:+/=-]{1,128}$/

/** Gives the request its id, its span and its abort signal, and logs it when it is over. */
export function beginCall({ clock, config, logger }: Facade) {
  const networks = new ClientNetworks(config.trustedProxies)
  return function beginRequest<T>(request: Request, response: Response, handle: () => T): T {
    const { method, path } = request
    const header = request.headers['x-request-id']
    const requestId = typeof header === 'string' && REQUEST_ID.test(header) ? header : randomId('req')
    const call = new Call(familyOf(path), requestId, () => networks.of(request), isAtV1(path))
    setCallOf(response, call)
    const started = clock.monotonic()
    const span = openSpan(method, {
      kind: 'server',
      attributes: { 'http.request.method': method, 'url.path': path },
      // Only callers on the machine itself may decide whether a request is traced, and under which trace.
      carrier: config.auth.mode === 'none' ? request.headers : undefined,
    })
    response.on('close', () => {
      const cut = !response.writableFinished
      const status = response.headersSent ? response.statusCode : 499
      const ms = Math.round((clock.monotonic() - started) * 100) / 100
      logger.info({ requestId, method, path, status, ms, cut, ref: call.ref }, 'request')
      if (cut) call.end()
      if (span === undefined) return
      // A route that is served at two paths is named by the first.
      const [route] = [request.route?.path as string | readonly string[] | undefined].flat()
      const attributes = { 'http.response.status_code': status, 'http.route': route }
      const name = route === undefined ? method : `${method} ${route}`
      span.end({ attributes, name, error: call.error })
    })
    const proceed = (): T => withRequestId(requestId, handle)
    return span === undefined ? proceed() : span.run(proceed)
  }
}
