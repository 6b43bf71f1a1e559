import { Code, ConnectError } from '@connectrpc/connect'
import type { Logger } from 'pino'
import { Rejection } from '#shared/rejection.ts'
import type { Call } from '../call.ts'
import type { PublicError } from './error-table.ts'
import { errorTypeOf } from './error-type.ts'
import { publicError } from './public-error.ts'

/**
 * Turns an error into the one that the client sees: that the server stops, if it has ended the request. An internal one
 * is logged with the reference that the client gets, or would get if the server did not stop.
 */
export function explain({ logger }: { readonly logger: Logger }, call: Call, thrown: unknown): PublicError {
  const error = call.stopped ? new Rejection('NOT_READY', { state: 'stopping' }) : thrown
  const own = publicError(call.family, thrown, call.publicField)
  const answer = call.stopped ? publicError(call.family, error) : own
  if (own.ref !== undefined && !(call.stopped && isAbort(call, thrown))) {
    call.ref = own.ref
    logger.error({ requestId: call.requestId, ref: own.ref, err: thrown }, 'Internal error')
  }
  const { generationId } = call
  return generationId === undefined ? answer : { ...answer, body: bodyOf(call, generationId, error, answer) }
}

/** The error of a request for a generation: a canonical type, or an id, as its dialect has it, and how far it came. */
function bodyOf({ family, describeFailure }: Call, id: string, error: unknown, { status, body }: PublicError) {
  const described = status === 500 ? undefined : describeFailure?.(error)
  return {
    ...body,
    ...(family === 'messages'
      ? { request_id: id }
      : { error: withType(body.error as object, errorTypeOf(error, status)) }),
    openrouter_metadata: described,
  }
}

function withType({ metadata, ...error }: { readonly metadata?: object }, errorType: string): object {
  return { ...error, metadata: { error_type: errorType, ...metadata } }
}

/** Whether an error only says that what the request had running was ended. */
function isAbort({ signal }: Call, error: unknown): boolean {
  return error === signal.reason || (error instanceof ConnectError && error.code === Code.Canceled)
}
