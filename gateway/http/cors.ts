import type { Request, Response } from 'express'
import { callOf } from '../call.ts'
import type { Config } from '../config.ts'
import { isAllowedOrigin, isLoopbackHost } from './request-checks.ts'

const PREFLIGHT = [
  'access-control-allow-methods',
  'GET, POST, PUT, PATCH, DELETE',
  'access-control-max-age',
  '600',
] as const

/** Response headers that pages may read besides those that browsers always expose. */
const EXPOSED = 'x-request-id, x-generation-id, retry-after'

/**
 * A list of header names. Client libraries send dozens of their own (`x-stainless-*`, `http-referer`, `x-title`, …).
 */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/

/**
 * Lets pages of the configured origins read answers, and send any header; in the mode `none` those of loopback hosts
 * too, on `/api`. The token endpoint allows no origin, whatever is configured. Preflight requests carry no credentials
 * and are answered before authentication: then it returns true.
 */
export function cors(config: Config) {
  return function allowOrigins(request: Request, response: Response): boolean {
    const { origin } = request.headers
    const call = callOf(response)
    // A page has no token to exchange, and must not read one.
    if (call.family === 'oauth') return false
    if (origin !== undefined) {
      const local = config.auth.mode === 'none' && call.family === 'instance' ? isLoopbackHost : undefined
      call.headers.push('vary', 'Origin')
      if (isAllowedOrigin(origin, config.corsOrigins, local)) {
        call.headers.push('access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED)
        if (isPreflight(request)) call.headers.push(...PREFLIGHT, ...allowHeaders(request))
      }
    }
    if (!isPreflight(request)) return false
    response.writeHead(204, call.headers).end()
    return true
  }
}

function isPreflight(request: Request): boolean {
  return request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
}

function allowHeaders({ headers }: Request): readonly string[] {
  const wanted = headers['access-control-request-headers']
  return wanted !== undefined && NAMES.test(wanted) ? ['access-control-allow-headers', wanted] : []
}
