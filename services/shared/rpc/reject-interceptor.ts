import { Code, ConnectError, type Interceptor } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { toConnectError } from '#shared/reasons.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import { wrapSteps } from '#shared/streams.ts'

/**
 * Converts what a handler throws into the error that its caller gets, for unary calls and every message of a stream,
 * and logs unplanned errors.
 */
export function rejectInterceptor(routes: Routes, logger: Logger): Interceptor {
  return (next) => async (request) => {
    const translate = (thrown: unknown): never => {
      const { signal } = request
      const planned = thrown instanceof ConnectError || !signal.aborted || !(signal.reason instanceof ConnectError)
      const error = planned ? toConnectError(thrown, routes.domain, routes.reasons) : signal.reason
      if (error.code === Code.Internal && thrown === error.cause) {
        logger.error({ err: thrown, method: `${request.service.typeName}/${request.method.name}` }, 'A call failed')
      }
      throw error
    }
    try {
      const response = await next(request)
      if (!response.stream) return response
      return { ...response, message: wrapSteps(response.message, (step) => step().catch(translate)) }
    } catch (thrown) {
      return translate(thrown)
    }
  }
}
