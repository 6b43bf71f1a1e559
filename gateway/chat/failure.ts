import type { PublicError } from '../errors/error-table.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'
import type { ChatError } from './completion.ts'

/** How a completion shows that it broke off. */
export interface ChatFailure {
  readonly error: ChatError
  /** How far the generation got; left out unless the client wants it. */
  readonly openrouter_metadata?: RouterMetadata
}

/** Turns the error that broke a generation off into its form within a completion. */
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
