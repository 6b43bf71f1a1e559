import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import type { Lease } from '../ports/lease.ts'
import { doRun } from './do-run.ts'
import { giveLeaseBack } from './give-back.ts'
import { OwnedSession } from './owned-session.ts'
import { patientPort } from './patient-port.ts'
import type { Pause } from './pause.ts'
import type { RunDependencies } from './run-context.ts'
import { INTERNAL } from './run-step.ts'
import type { Slot } from './slots.ts'
import { type Drain, giveUp, MOST_ACQUISITIONS, takeOver } from './takeover/take-over.ts'
import { isBlameless, isLeaseLost, type Loss, RENEW_SHARE, type Tenure } from './tenure.ts'

/**
 * Owns one session for one run, or until the tenure ends: takes over what a former owner left, or begins the run that
 * is due. The lease ends with the run; further work is acquired again, under a new fence. Never throws. A lost session
 * is abandoned without further writes; at a shutdown, the lease is released while the run stays begun, so that the next
 * owner continues it.
 */
export async function drainSession(dependencies: RunDependencies, tenure: Tenure, slot: Slot): Promise<void> {
  const { lease, holdSignal } = tenure
  const pause: Pause = (ms, signal) => slot.rest(() => dependencies.pause(ms, signal))
  const patience = (ms: number): Promise<void> => pause(ms, holdSignal)
  const store = patientPort(dependencies.store, dependencies.health, patience)
  const blobs = patientPort(dependencies.blobs, dependencies.health, patience)
  const isOwn = comesBack(dependencies, lease)
  try {
    const owned = new OwnedSession(store, tenure)
    await drain({ ...dependencies, store, blobs, pause, tenure, owned, slot }, isOwn)
    dependencies.fences.delete(nameOf(lease))
  } catch (error) {
    if (isLeaseLost(error)) tenure.stop('lost')
    report(dependencies, tenure, error)
    const { reason, loss } = tenure
    if (loss === 'taken') dependencies.fences.delete(nameOf(lease))
    // Neither a shutdown nor an outage counts as an acquisition.
    if (reason === 'shutdown') await giveLeaseBack(dependencies, lease, { park: !dependencies.autoResume })
    else if (loss !== undefined) {
      if (isBlameless(loss)) void giveLeaseBack(dependencies, lease)
    } else if (isStoreUnavailable(error)) {
      // It is unknown whether the last write was done; the next owner finds out. It may be the run's own fault, so the
      // acquisition counts.
      void giveLeaseBack(dependencies, lease, { counts: true })
    }
  }
}

const LOSSES: Readonly<Record<Loss, string>> = {
  taken: 'A session was lost to another owner, or removed',
  outage: 'A session was lost: the store accepted no renewal of its lease in time',
  failure: 'A session was lost: its lease could not be renewed',
  stall: 'A session was lost: this process was busy for longer than its lease lasts',
  pause: 'A session was lost: this process was suspended for longer than its lease lasts',
}

function report({ logger }: RunDependencies, { lease, reason, loss }: Tenure, error: unknown): void {
  const { sessionId, acquisitions } = lease
  if (loss !== undefined) logger.info({ sessionId }, LOSSES[loss])
  else if (isStoreUnavailable(error)) logger.info({ sessionId }, 'A run waits for the store')
  // An unexpected error is likely to happen again, so the lease is left to expire before the next attempt.
  else if (reason !== 'shutdown') logger.error({ err: error, sessionId, acquisitions }, 'A drain failed')
}

async function drain(run: Drain, isOwn: boolean): Promise<void> {
  const { tenure, owned, logger } = run
  const { lease } = tenure
  const attributes = { 'gen_ai.conversation.id': lease.sessionId }
  if (lease.acquisitions > MOST_ACQUISITIONS) return giveUp(run)
  const goesOn = run.autoResume || isOwn
  const left = lease.unfinished ? await takeOver(run, goesOn) : []
  if (lease.unfinished && !goesOn) return endCutOff(run)
  const { outcome, error } = await inSpan('session.run', { attributes }, () => doRun(run, left))
  // An unexpected error may have occurred before the run began; it has been logged already.
  if (error === INTERNAL) return owned.abandonRun(error)
  await owned.endRun(outcome, error)
  // The message is not logged: it may be a provider's, and is meant for the client.
  if (outcome !== Outcome.FAILED) return
  logger.warn({ sessionId: lease.sessionId, reason: error?.type }, 'A run has failed')
}

/** Ends a run that a stop or crash cut off. */
function endCutOff({ tenure, owned, clock, leaseMs, startedAt }: Drain): Promise<void> {
  const { heldUntil } = tenure.lease
  const renewMs = leaseMs * RENEW_SHARE
  return owned.endCutOff(() => ({ heldUntil, leaseMs, renewMs, upMs: clock.monotonic() - startedAt }))
}

/** Whether this process also held the previous lease, so that what it left was not cut off by the end of a process. */
function comesBack({ fences }: RunDependencies, lease: Lease): boolean {
  const before = fences.get(nameOf(lease))
  fences.set(nameOf(lease), lease.fence)
  return before === lease.fence - 1
}

function nameOf({ workspace, sessionId }: Lease): string {
  return `${workspace}/${sessionId}`
}
