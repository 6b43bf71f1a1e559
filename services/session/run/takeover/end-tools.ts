import { isAway } from '#services/session/domain/generation/retry.ts'
import type { Admitter } from '#services/session/domain/inbox.ts'
import { Rejection } from '#shared/rejection.ts'
import type { RunContext, RunDependencies } from '../run-context.ts'
import { Stopped } from '../stopped.ts'
import type { Tenure } from '../tenure.ts'

const PATIENCE_MS = 3_500
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/** About half a minute. */
const UNEXPLAINED_TRIES = 7
/** One line a minute says that tools could not be ended. */
const NOTE_MS = 60_000

/**
 * Ends what the run's own tool calls have left running, and waits for that, but not for long; whether they have ended.
 * Their fence is spent with it: under this lease no tool can be started any more.
 */
export async function endTools({ tenure, catalog, principal, logger }: RunContext): Promise<boolean> {
  const { sessionId, fence } = tenure.lease
  const signal = AbortSignal.timeout(PATIENCE_MS)
  try {
    await catalog.endTools({ principal, signal }, sessionId, fence + 1)
    return true
  } catch (error) {
    logger.warn({ err: error, sessionId }, 'The tool calls of a stopped run could not be ended in time')
    return false
  }
}

/**
 * Ends what older owners of the session have left running. Tries for as long as the catalog is away: before that nobody
 * knows what still happens, and nothing may be written as aborted. What it can't explain is thrown after
 * some tries.
 */
export async function endOlderTools(
  { catalog, pause, logger, clock }: RunDependencies,
  tenure: Tenure,
  principal: Admitter,
): Promise<void> {
  const { sessionId, fence } = tenure.lease
  const signal = tenure.holdSignal
  let unexplained = 0
  let notedAt = Number.NEGATIVE_INFINITY
  for (let delay = FIRST_PAUSE_MS; ; delay = Math.min(delay * 2, LONGEST_PAUSE_MS)) {
    try {
      return await catalog.endTools({ principal, signal }, sessionId, fence)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Rejection && error.reason === 'TOOL_FENCED') {
        tenure.stop('lost')
        throw new Stopped('lost')
      }
      if (!isAbsence(error) && ++unexplained >= UNEXPLAINED_TRIES) throw error
      if (clock.monotonic() - notedAt >= NOTE_MS) {
        notedAt = clock.monotonic()
        logger.warn({ err: error, sessionId }, 'The tool calls of a former owner could not be ended yet')
      }
    }
    await pause(delay, signal)
  }
}

/** Whether a service of ours is away. */
function isAbsence(error: unknown): boolean {
  return error instanceof Rejection && isAway(error.reason)
}
