import type { Request } from 'express'
import { Rejection } from '#shared/rejection.ts'

const LOOPBACK = /^(?:localhost|127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}|\[::1\])$/i

/** Whether a host name without its port is a loopback address or `localhost`. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host)
}

/**
 * Refuses a request whose host is ambiguous, as RFC 9112 section 3.2 demands: with several Host headers, with none
 * (HTTP/1.0 may do without), or with another one than its absolute address has. Rejects with HOST_INVALID.
 */
export function requireOneHost(request: Request): void {
  const { rawHeaders, url } = request
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1
  }
  const wrong = hosts === 0 ? request.httpVersion !== '1.0' : hosts > 1
  if (wrong || (url[0] !== '/' && url !== '*' && hostIn(url) !== hostIn(`http://${request.headers.host}`))) {
    throw new Rejection('HOST_INVALID')
  }
}

function hostIn(address: string): string | undefined {
  return URL.parse(address)?.host
}

/**
 * Refuses a request that does not address a loopback name of this server: a page whose name was rebound to a loopback
 * address still sends its own name (DNS rebinding). Rejects with HOST_FORBIDDEN.
 */
export function requireOwnHost(request: Request): void {
  const [, host = '', port = '80'] = /^(.*?)(?::(\d{1,5}))?$/.exec(request.headers.host ?? '') ?? []
  if (!isLoopbackHost(host) || Number(port) !== request.socket.localPort) {
    throw new Rejection('HOST_FORBIDDEN')
  }
}

/**
 * Refuses a request of a page that is neither this server's own nor of an allowed origin. Where browsers send no Origin
 * (pictures, frames, links) they say in Sec-Fetch-Site whether the page is of another site; a request with neither
 * comes from no page. Rejects with ORIGIN_FORBIDDEN.
 */
export function requireAllowedOrigin(
  request: Request,
  allowed: readonly string[],
  trusted: (host: string) => boolean = () => false,
): void {
  const { origin } = request.headers
  if (origin === undefined) {
    if (request.headers['sec-fetch-site'] === 'cross-site') throw new Rejection('ORIGIN_FORBIDDEN')
    return
  }
  if (isAllowedOrigin(origin, allowed, trusted)) return
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

/** The host of a page's origin, in the one form that browsers write it in. */
function hostOf(origin: string): URL | undefined {
  const url = URL.parse(origin)
  return url?.origin === origin && /^https?:$/.test(url.protocol) ? url : undefined
}

/**
 * Refuses a request that expects anything but `100 Continue` (RFC 9110 section 10.1.1; in HTTP/1.0 the header means
 * nothing). Rejects with EXPECTATION_FAILED.
 */
export function requireKnownExpectation(request: Request): void {
  const { expect } = request.headers
  if (expect !== undefined && request.httpVersion !== '1.0' && expect.toLowerCase() !== '100-continue') {
    throw new Rejection('EXPECTATION_FAILED')
  }
}

/** Has a client send the body that it holds back until `100 Continue`. */
export function askForBody(request: Request): void {
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') request.res?.writeContinue()
}
