import { reasonOf } from '#shared/rejection.ts'
import { providerFailure } from '../errors/provider.ts'

/** Canonical types of errors that are not about a provider, by status (gateway facts 5.2). */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication',
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  429: 'rate_limit_exceeded',
  504: 'timeout',
}

/** The canonical type of what broke a generation off; `status`: that which the error would have had before the first byte. */
export function errorTypeOf(error: unknown, status: number): string {
  const reason = reasonOf(error)
  const ofProvider = reason === undefined ? undefined : providerFailure(reason)?.errorType
  return ofProvider ?? TYPES[status] ?? (status < 500 ? 'invalid_request' : 'server')
}
