import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { Admitter } from '#services/session/domain/inbox.ts'
import type { MessageOf } from '#services/session/domain/message.ts'
import { structuredError } from '#services/session/domain/structured-error.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import type { RunContext } from '../run-context.ts'
import { interruptDelegates } from '../subagents/task-call.ts'
import { isLeaseLost } from '../tenure.ts'
import { endOlderTools } from './end-tools.ts'

/** A run that is not at a step yet. */
export type Drain = Omit<RunContext, 'principal' | 'session'>

/** After this many acquisitions without a completed step, a run has failed. */
export const MOST_ACQUISITIONS = 5
const GIVEN_UP = structuredError('internal', `The run made no progress in ${MOST_ACQUISITIONS} attempts`)
const TOOLS_UNKNOWN: StructuredError = {
  ...GIVEN_UP,
  message: `${GIVEN_UP.message}; whether its tool calls have ended, and what they have done, is unknown`,
}

/** Fails a run that never ends: it is at fault, or it crashes each process that tries. */
export async function giveUp(run: Drain): Promise<void> {
  const { tenure, owned, logger } = run
  const { sessionId, unfinished } = tenure.lease
  logger.error({ sessionId }, `A run has failed: it made no progress in ${MOST_ACQUISITIONS} attempts`)
  // The unfinished messages may be what fails each time; the session must remain usable.
  const succeeds = (work: Promise<void>): Promise<boolean> =>
    work.then(
      () => true,
      (error: unknown) => {
        if (tenure.reason !== undefined || isLeaseLost(error) || isStoreUnavailable(error)) throw error
        logger.warn({ err: error, sessionId }, 'What a failed run left unfinished could not be settled')
        return false
      },
    )
  const ended = !unfinished || (await succeeds(endFormerTools(run)))
  if (unfinished) {
    await succeeds(owned.settleAborted().then(({ abandoned }) => interruptDelegates(run, abandoned)))
  }
  await owned.abandonRun(ended ? GIVEN_UP : TOOLS_UNKNOWN)
}

/**
 * Settles what a former owner left. If the run continues, returns the steps with delegated calls, which continue, too.
 * Child sessions that nobody waits for any more are interrupted.
 */
export async function takeOver(run: Drain, goesOn: boolean): Promise<readonly MessageOf<'assistant'>[]> {
  await endFormerTools(run)
  const { kept, abandoned } = await run.owned.settleAborted({ keep: goesOn })
  await interruptDelegates(run, abandoned)
  return kept
}

export async function atStep(run: Drain): Promise<RunContext> {
  const { workspace, sessionId } = run.tenure.lease
  const session = await run.store.getSession(workspace, sessionId)
  if (session === undefined) throw sessionNotFound(sessionId)
  return { ...run, session, principal: await formerPrincipal(run) }
}

async function formerPrincipal({ owned }: Drain): Promise<Admitter> {
  const principal = await owned.lastAdmitter()
  if (principal === undefined) throw new Error('A run began without an input')
  return principal
}

async function endFormerTools(run: Drain): Promise<void> {
  await endOlderTools(run, run.tenure, await formerPrincipal(run))
}
