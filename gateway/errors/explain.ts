import type { Logger } from 'pino'
import type { Call } from '../call.ts'
import { type PublicError, publicError } from './public-error.ts'

/** What the client of a call sees of an error; an internal one is logged, with the reference that the client gets. */
export function explain({ logger }: { readonly logger: Logger }, call: Call, error: unknown): PublicError {
  const shown = publicError(call.family, error, call.publicField)
  if (shown.ref !== undefined) {
    call.ref = shown.ref
    logger.error({ requestId: call.requestId, ref: shown.ref, err: error }, 'Internal error')
  }
  return shown
}
