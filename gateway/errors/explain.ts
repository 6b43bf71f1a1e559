import type { Logger } from 'pino'
import type { Call } from '../call.ts'
import { type PublicError, publicError } from './public-error.ts'

/**
 * What the client of a call sees of an error, with what the call itself knows: the id of its generation where Anthropic's envelope has it, and
 * how far it came. An internal error says nothing but the reference that it is logged with.
 */
export function explain({ logger }: { readonly logger: Logger }, call: Call, error: unknown): PublicError {
  const shown = publicError(call.family, error, call.publicField)
  if (shown.ref !== undefined) {
    call.ref = shown.ref
    logger.error({ requestId: call.requestId, ref: shown.ref, err: error }, 'Internal error')
  }
  const { generationId, describeFailure } = call
  const named = call.family === 'messages' && generationId !== undefined
  const described = shown.status === 500 ? undefined : describeFailure?.(error)
  if (!named && described === undefined) return shown
  const body = {
    ...shown.body,
    ...(named ? { request_id: generationId } : {}),
    ...(described === undefined ? {} : { openrouter_metadata: described }),
  }
  return { ...shown, body }
}
