import { errorTypeOf } from '../errors/error-type.ts'
import type { PublicError } from '../errors/public-error.ts'
import type { ChatFailure } from './completion.ts'

/** Says what broke a generation off, with the code and the message that the error would have had before the first byte. */
export function chatFailure(error: unknown, { status, body }: Pick<PublicError, 'status' | 'body'>): ChatFailure {
  const errorType = errorTypeOf(error, status)
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
