import type { Request } from 'express'
import { Rejection } from '#shared/rejection.ts'

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
