import type { Catalog } from '#services/session/ports/catalog.ts'
import type { Removal } from '#services/session/ports/session-removal.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

const PATIENCE_MS = 3_500

/**
 * Ends the tool calls that a removed session has left, whichever process started them, and waits a short time for that.
 * Returns whether none is left. Afterwards, no lease of the session can start another call.
 */
export async function endLeftTools(
  { catalog, logger }: { readonly catalog: Pick<Catalog, 'endTools'>; readonly logger: Logger },
  { sessionId, tools }: Removal,
  closing: AbortSignal,
): Promise<boolean> {
  if (tools === undefined) return true
  const signal = AbortSignal.any([closing, AbortSignal.timeout(PATIENCE_MS)])
  try {
    await catalog.endTools({ principal: tools.admitter, signal }, sessionId, tools.fence)
    return true
  } catch (error) {
    // A new session with the same id has a newer token, so everything older has ended.
    if (error instanceof Rejection && error.reason === 'TOOL_FENCED') return true
    if (!closing.aborted) {
      logger.warn({ err: error, sessionId }, 'The tool calls of a removed session could not be ended yet')
    }
    return false
  }
}
