import { reasonOf } from '#shared/reasons.ts'
import { providerFailure } from './provider.ts'

/** Canonical types of errors that are not about a provider, by status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication',
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  408: 'timeout',
  413: 'payload_too_large',
  429: 'rate_limit_exceeded',
  504: 'timeout',
}

/** The canonical type of an error that names none, by its status. */
export function typeOfStatus(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request' : 'server')
}

/**
 * The canonical type of what broke a generation off; `status`: that which the error would have had before the first
 * byte.
 */
export function errorTypeOf(error: unknown, status: number): string {
  const reason = reasonOf(error)
  return (reason && providerFailure(reason)?.errorType) ?? typeOfStatus(status)
}
