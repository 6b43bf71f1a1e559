import type { Logger } from 'pino'
import { Rejection } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import type { PublicError } from './error-table.ts'
import { errorTypeOf } from './error-type.ts'
import { publicError } from './public-error.ts'

/**
 * Turns an error into the one that the client sees: that the server stops, if it has ended the request. An internal one
 * is logged with the reference that the client gets.
 */
export function explain({ logger }: { readonly logger: Logger }, call: Call, thrown: unknown): PublicError {
  const error = call.stopped ? new Rejection('NOT_READY', { state: 'stopping' }) : thrown
  const shown = publicError(call.family, error, call.publicField)
  if (shown.ref !== undefined) {
    call.ref = shown.ref
    logger.error({ requestId: call.requestId, ref: shown.ref, err: error }, 'Internal error')
  }
  const { generationId } = call
  return generationId === undefined ? shown : { ...shown, body: bodyOf(call, generationId, error, shown) }
}

/**
 * The error of a request for a generation: a canonical type (gateway facts 5.2), or an id, as its dialect has it, and
 * how far it came.
 */
function bodyOf({ family, describeFailure }: Call, id: string, error: unknown, { status, body }: PublicError) {
  const described = status === 500 ? undefined : describeFailure?.(error)
  return {
    ...body,
    ...(family === 'messages'
      ? { request_id: id }
      : { error: typed(body.error as object, errorTypeOf(error, status)) }),
    ...(described === undefined ? {} : { openrouter_metadata: described }),
  }
}

function typed({ metadata, ...said }: { readonly metadata?: object }, errorType: string): object {
  return { ...said, metadata: { error_type: errorType, ...metadata } }
}
