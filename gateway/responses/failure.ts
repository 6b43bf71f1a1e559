import type { PublicError } from '../errors/error-table.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'

/** How a response says that it failed. */
export interface ResponseFailure {
  /** Code of OpenAI's schema: a word. */
  readonly code: string
  readonly message: string
  readonly errorType: string
  /** How far the generation got; left out unless the client wants it. */
  readonly metadata?: RouterMetadata
}

/** Codes by canonical type; the code of any other one is `server_error`. */
const CODES: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'rate_limit_exceeded',
  context_length_exceeded: 'invalid_prompt',
  invalid_request: 'invalid_prompt',
  content_policy_violation: 'image_content_policy_violation',
}

/**
 * Turns the error that broke a generation off into its form within a response; the message is the one that it would
 * have had before the first byte.
 */
export function responseFailure({ body }: Pick<PublicError, 'body'>): ResponseFailure {
  const { error, openrouter_metadata: metadata } = body as {
    readonly error: { readonly message: string; readonly metadata: { readonly error_type: string } }
    readonly openrouter_metadata?: RouterMetadata
  }
  const errorType = error.metadata.error_type
  return { code: CODES[errorType] ?? 'server_error', message: error.message, errorType, metadata }
}

/** The generation ended without its last event. */
export const CUT_OFF: ResponseFailure = { code: 'server_error', message: 'Internal Server Error', errorType: 'server' }

/** The server stopped before the generation ended. */
export const STOPPING: ResponseFailure = { ...CUT_OFF, message: 'The server is stopping' }
