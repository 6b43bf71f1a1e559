import { errorTypeOf } from '../errors/error-type.ts'
import type { PublicError } from '../errors/public-error.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'
import type { ChatError } from './completion.ts'

/** What a completion says that broke off. */
export interface ChatFailure {
  readonly error: ChatError
  /** How far it came; left out where nobody asks. */
  readonly openrouter_metadata?: RouterMetadata
}

/** Says what broke a generation off, with the code and the message that the error would have had before the first byte. */
export function chatFailure(error: unknown, { status, body }: Pick<PublicError, 'status' | 'body'>): ChatFailure {
  const { error: shown, ...beside } = body
  const { message, metadata } = shown as { readonly message: string; readonly metadata?: object }
  return {
    error: { code: status, message, metadata: { ...metadata, error_type: errorTypeOf(error, status) } },
    ...beside,
  }
}

const INTERNAL: ChatError = { code: 500, message: 'Internal Server Error', metadata: { error_type: 'server' } }

/** The generation ended without its last event. */
export const CUT_OFF: ChatFailure = { error: INTERNAL }

/** The server stopped before the generation ended. */
export const STOPPING: ChatFailure = { error: { ...INTERNAL, code: 503, message: 'The server is stopping' } }
