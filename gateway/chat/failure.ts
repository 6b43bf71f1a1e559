import type { PublicError } from '../errors/error-table.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'
import type { ChatError } from './completion.ts'

/** What a completion says that broke off. */
export interface ChatFailure {
  readonly error: ChatError
  /** How far it came; left out where the client does not want it. */
  readonly openrouter_metadata?: RouterMetadata
}

/** Says what broke a generation off, as the error would have said it before the first byte. */
export function chatFailure({ body }: Pick<PublicError, 'body'>): ChatFailure {
  const { error, ...beside } = body
  const { code, message, metadata } = error as ChatError
  return { error: { code, message, metadata }, ...beside }
}

const INTERNAL: ChatError = { code: 500, message: 'Internal Server Error', metadata: { error_type: 'server' } }

/** The generation ended without its last event. */
export const CUT_OFF: ChatFailure = { error: INTERNAL }

/** The server stopped before the generation ended. */
export const STOPPING: ChatFailure = { error: { ...INTERNAL, code: 503, message: 'The server is stopping' } }
