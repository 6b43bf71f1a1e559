import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { inSpan } from '#shared/telemetry/tracing.ts'
import type { Admitter } from '../domain/inbox.ts'
import type { Message, StructuredError } from '../domain/message.ts'
import { nextAction } from '../domain/next-action.ts'
import type { Outcome } from '../domain/session.ts'
import { endOlderTools } from './end-tools.ts'
import { giveBack } from './give-back.ts'
import { isBlameless, type Loss } from './loss.ts'
import { patientPort, StoreFault } from './patient-port.ts'
import type { Pause } from './pause.ts'
import { type RunDependencies, RunFailure } from './run-context.ts'
import { INTERNAL, runStep } from './run-step.ts'
import type { Slot } from './slots.ts'
import { isLeaseLost, type Tenure } from './tenure.ts'

/** How a run ended. */
interface RunEnd {
  readonly outcome: Outcome
  readonly error: StructuredError | undefined
}

/** So often a run may be tried without getting on: without a step that was completed. */
const MOST_ATTEMPTS = 5
const GIVEN_UP: StructuredError = { type: 'internal', message: 'The run was tried 5 times and never got on' }
const TOOLS_UNKNOWN: StructuredError = {
  ...GIVEN_UP,
  message: `${GIVEN_UP.message}; whether its tool calls have ended, and what they have done, is unknown`,
}

const SUCCEEDED: RunEnd = { outcome: 'succeeded', error: undefined }

/**
 * Owns one session for one run, or until the tenure ends: takes over what a former owner left, or begins the run that is
 * due. The lease ends with the run: what is due then is acquired anew, under a fence that no interrupt has spent. Never
 * throws. A lost session is left without a word; one that is given up for a shutdown is released with its run begun, so
 * that whoever comes next goes on.
 */
export async function drainSession(given: RunDependencies, tenure: Tenure, slot: Slot): Promise<void> {
  const { lease, holdSignal } = tenure
  const pause: Pause = (ms, signal) => slot.rest(() => given.pause(ms, signal))
  const patience = (ms: number): Promise<void> => pause(ms, holdSignal)
  const store = patientPort(given.store, given.health, patience)
  const blobs = patientPort(given.blobs, given.health, patience)
  try {
    await drain({ ...given, store, blobs, pause }, tenure, slot)
  } catch (error) {
    if (isLeaseLost(error)) tenure.stop('lost')
    tell(given, tenure, error)
    // Nobody knows whether the last write was done: whoever takes over finds out. An outage is no attempt, nor is a shutdown.
    const { reason, loss } = tenure
    const blameless = loss === undefined ? isStoreUnavailable(error) : isBlameless(loss)
    if (reason === 'shutdown') await giveBack(given, lease)
    else if (blameless) void giveBack(given, lease)
  }
}

const LOSSES: Readonly<Record<Loss, string>> = {
  taken: 'A session was lost to another owner',
  outage: 'A session was lost: the store took no renewal of its lease in time',
  failure: 'A session was lost: its lease could not be renewed',
  stall: 'A session was lost: this process was busy for longer than its lease lasts',
  pause: 'A session was lost: this process was given no time for longer than its lease lasts',
}

function tell({ logger }: RunDependencies, { lease, reason, loss }: Tenure, error: unknown): void {
  const { sessionId, attempt } = lease
  if (loss !== undefined) logger.info({ sessionId }, LOSSES[loss])
  else if (isStoreUnavailable(error)) logger.info({ sessionId }, 'A run waits for the store')
  // What nobody foresaw will happen again: the lease runs out before somebody else tries.
  else if (reason !== 'shutdown') logger.error({ err: error, sessionId, attempt }, 'A drain failed')
}

async function drain(dependencies: RunDependencies, tenure: Tenure, slot: Slot): Promise<void> {
  const { store } = dependencies
  const { lease } = tenure
  const attributes = { 'gen_ai.conversation.id': lease.sessionId }
  if (lease.attempt > MOST_ATTEMPTS) return giveUp(dependencies, tenure)
  if (lease.unfinished) await takeOver(dependencies, tenure)
  const begun = lease.unfinished || (await store.promote(lease, 'idle')).messages.length > 0
  const { outcome, error } = begun
    ? await inSpan('session.run', { attributes }, () => doRun(dependencies, tenure, slot))
    : SUCCEEDED
  tenure.checkHeld()
  await store.endRun(lease, outcome, error)
}

/** Ends a run that has no end by itself: it is to blame, or what it does ends each process that tries. */
async function giveUp(dependencies: RunDependencies, tenure: Tenure): Promise<void> {
  const { store, logger } = dependencies
  const { lease } = tenure
  const { sessionId } = lease
  logger.error({ sessionId }, `A run was tried ${MOST_ATTEMPTS} times and never got on: it has failed`)
  // What is left may be what fails each time; the session is more than that.
  const succeeds = (work: Promise<void>): Promise<boolean> =>
    work.then(
      () => true,
      (error: unknown) => {
        if (tenure.reason !== undefined || isLeaseLost(error) || isStoreUnavailable(error)) throw error
        logger.warn({ err: error, sessionId }, 'What a run left that has failed could not be settled')
        return false
      },
    )
  const ended = !lease.unfinished || (await succeeds(endFormerTools(dependencies, tenure)))
  tenure.checkHeld()
  if (lease.unfinished) await succeeds(store.settleAborted(lease))
  tenure.checkHeld()
  await store.abandonRun(lease, ended ? GIVEN_UP : TOOLS_UNKNOWN)
}

async function takeOver(dependencies: RunDependencies, tenure: Tenure): Promise<void> {
  await endFormerTools(dependencies, tenure)
  tenure.checkHeld()
  await dependencies.store.settleAborted(tenure.lease)
}

async function endFormerTools(dependencies: RunDependencies, tenure: Tenure): Promise<void> {
  const principal = await dependencies.store.lastAdmitter(tenure.lease)
  if (principal === undefined) throw new Error('A run was begun without an input')
  await endOlderTools(dependencies, tenure, principal)
}

/** Does step after step until the conversation needs no other, or the agent may do no other. */
async function doRun(dependencies: RunDependencies, tenure: Tenure, slot: Slot): Promise<RunEnd> {
  const { store, logger } = dependencies
  const { lease } = tenure
  const transcript = new Transcript(dependencies, tenure)
  let limited = false
  try {
    for (;;) {
      tenure.check()
      // A rejected call ends the run before anything that was admitted since can enter it.
      const rejected = nextAction(await transcript.read())
      if (rejected.type === 'end' && rejected.outcome === 'interrupted') return rejected
      const { messages } = await store.promote(lease, 'step')
      const conversation = await transcript.read()
      const next = nextAction(conversation)
      if (next.type === 'end') return next
      if (limited && messages.length === 0) return SUCCEEDED
      const { session, interruptRequested } = await store.readLeased(lease)
      if (interruptRequested) tenure.stop('interrupted')
      tenure.check()
      const principal = (await store.lastAdmitter(lease)) as Admitter
      const run = { ...dependencies, tenure, slot, principal, session }
      limited = await inSpan('session.step', {}, () => runStep(run, conversation))
    }
  } catch (error) {
    if (tenure.reason === 'interrupted') return { outcome: 'interrupted', error: undefined }
    if (tenure.reason !== undefined || isLeaseLost(error)) throw error
    if (isStoreUnavailable(error) || error instanceof StoreFault) throw error
    if (error instanceof RunFailure) return { outcome: 'failed', error: error.error }
    logger.error({ err: error, sessionId: lease.sessionId }, 'A run failed')
    await store.settleAborted(lease)
    return { outcome: 'failed', error: INTERNAL }
  }
}

/** The conversation, read once; at each step only what has come since. */
class Transcript {
  readonly #dependencies: RunDependencies
  readonly #tenure: Tenure
  readonly #messages: Message[] = []
  #last = 0

  constructor(dependencies: RunDependencies, tenure: Tenure) {
    this.#dependencies = dependencies
    this.#tenure = tenure
  }

  /** To be read between steps only: then no message changes any more. */
  async read(): Promise<readonly Message[]> {
    for (const { seq, message } of await this.#dependencies.store.readTranscript(this.#tenure.lease, this.#last)) {
      this.#messages.push(message)
      this.#last = seq
    }
    return this.#messages
  }
}
