import { isAway } from '#services/session/domain/generation/retry.ts'
import type { Admitter } from '#services/session/domain/inbox.ts'
import { Rejection } from '#shared/rejection.ts'
import type { RunContext, RunDependencies } from '../run-context.ts'
import { Stopped, type Tenure } from '../tenure.ts'

const PATIENCE_MS = 3_500
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/** About half a minute. */
const UNEXPLAINED_TRIES = 7
/** How often to log that tools could not be ended: once a minute. */
const NOTE_MS = 60_000

/**
 * Ends whatever the run's own tool calls have left running, as `endOlderTools` does; only a process that stops waits no
 * longer than a short time. Returns whether they have ended. This uses up their fence: no tool can be started under
 * this lease any more.
 */
export async function endTools(run: RunContext): Promise<boolean> {
  const { tenure, catalog, principal, logger } = run
  const { sessionId, fence } = tenure.lease
  if (tenure.reason !== 'shutdown') {
    await endUntilEnded(run, tenure, principal, fence + 1)
    return true
  }
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
 * Ends whatever older owners of the session have left running. Retries for as long as the catalog is unavailable, since
 * nothing may be recorded as aborted while it may still be running. An unexplained error is thrown after some retries.
 */
export function endOlderTools(run: RunDependencies, tenure: Tenure, principal: Admitter): Promise<void> {
  return endUntilEnded(run, tenure, principal, tenure.lease.fence)
}

async function endUntilEnded(
  { catalog, pause, logger, clock }: RunDependencies,
  tenure: Tenure,
  principal: Admitter,
  fence: number,
): Promise<void> {
  const { sessionId } = tenure.lease
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
        logger.warn(
          { err: error, sessionId },
          'Tool calls of a stopped run, or of a former owner, could not be ended yet',
        )
      }
    }
    await pause(delay, signal)
  }
}

/** Whether a service of ours is unavailable. */
function isAbsence(error: unknown): boolean {
  return error instanceof Rejection && isAway(error.reason)
}
