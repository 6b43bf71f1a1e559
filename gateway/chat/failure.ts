import { reasonOf } from '#shared/rejection.ts'
import { providerFailure } from '../errors/provider.ts'
import type { PublicError } from '../errors/public-error.ts'
import type { ChatFailure } from './completion.ts'

/** Canonical types of errors that are not about a provider, by status (gateway facts 5.2). */
const TYPES: Readonly<Record<number, string>> = {
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  429: 'rate_limit_exceeded',
  504: 'timeout',
}

/** Says what broke a generation off, with the code and the message that the error would have had before the first byte. */
export function chatFailure(error: unknown, { status, body }: Pick<PublicError, 'status' | 'body'>): ChatFailure {
  const reason = reasonOf(error)
  const ofProvider = reason === undefined ? undefined : providerFailure(reason)?.errorType
  const errorType = ofProvider ?? TYPES[status] ?? (status < 500 ? 'invalid_request' : 'server')
  const { message, metadata } = body.error as { readonly message: string; readonly metadata?: object }
  return { code: status, message, metadata: { ...metadata, error_type: errorType } }
}

/** The generation ended without its last event. */
export const CUT_OFF: ChatFailure = {
  code: 500,
  message: 'Internal Server Error',
  metadata: { error_type: 'server' },
}

/** The server stopped before the generation ended. */
export const STOPPING: ChatFailure = { ...CUT_OFF, code: 503, message: 'The server is stopping' }
