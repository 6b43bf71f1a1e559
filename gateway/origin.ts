import type { Request } from 'express'
import { Rejection } from '#shared/rejection.ts'

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i

/** Whether a host name without its port is a loopback address or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host)
}

/**
 * Refuses a request that does not address a loopback name of this server: a page whose name was rebound to a loopback
 * address still sends its own name (DNS rebinding). Rejects with HOST_FORBIDDEN.
 */
export function requireOwnHost(request: Request): void {
  const match = /^(.*?)(?::(\d{1,5}))?$/.exec(request.headers.host ?? '')
  const port = Number(match?.[2] ?? 80)
  if (match === null || !isLoopbackHost(match[1] as string) || port !== request.socket.localPort) {
    throw new Rejection('HOST_FORBIDDEN')
  }
}

/**
 * Refuses a request of a page that is neither this server's own nor of an allowed origin. A request without an Origin
 * header comes from no page, or from one of this server. Rejects with ORIGIN_FORBIDDEN.
 */
export function requireAllowedOrigin(
  request: Request,
  allowed: readonly string[],
  trusted: (host: string) => boolean = () => false,
): void {
  const { origin } = request.headers
  if (origin === undefined || isAllowedOrigin(origin, allowed, trusted)) return
  if (hostOf(origin)?.host !== request.headers.host) throw new Rejection('ORIGIN_FORBIDDEN')
}

/** Whether pages of an origin may call: it is configured, or its host is one of the trusted ones. */
export function isAllowedOrigin(
  origin: string,
  allowed: readonly string[],
  trusted: (host: string) => boolean = () => false,
): boolean {
  if (allowed.includes(origin)) return true
  const url = hostOf(origin)
  return url !== undefined && trusted(url.hostname)
}

function hostOf(origin: string): URL | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined
}
