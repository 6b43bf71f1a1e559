import type { NextFunction, Request, Response } from 'express'
import { callOf } from './call.ts'
import type { Config } from './config.ts'
import { isAllowedOrigin, isLoopbackHost } from './origin.ts'

const PREFLIGHT = [
  'access-control-allow-methods',
  'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers',
  'authorization, content-type, last-event-id, x-opencode-directory, x-request-id',
  'access-control-max-age',
  '600',
] as const

/**
 * Lets pages of the configured origins read answers; in the mode `none` those of loopback hosts too, on `/api`.
 * Preflight requests carry no credentials and are answered before authentication (`contract/instance-facts.md` 3.14).
 */
export function cors(config: Config) {
  return function allowOrigins(request: Request, response: Response, next: NextFunction): void {
    const { origin } = request.headers
    const call = callOf(response)
    if (origin !== undefined) {
      const local = config.auth.mode === 'none' && call.family === 'instance' ? isLoopbackHost : undefined
      call.headers.push('vary', 'Origin')
      if (isAllowedOrigin(origin, config.corsOrigins, local)) {
        call.headers.push('access-control-allow-origin', origin, 'access-control-expose-headers', 'x-request-id')
        if (isPreflight(request)) call.headers.push(...PREFLIGHT)
      }
    }
    if (isPreflight(request)) response.writeHead(204, call.headers).end()
    else next()
  }
}

function isPreflight(request: Request): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}
