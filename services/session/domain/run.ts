import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Outcome, type TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import { type DurableInit, partBehind, withTotals } from './event.ts'
import { mayEnter } from './inbox/promotion.ts'
import { endJoined, parkInputs, wakeForSteers } from './inbox/wake.ts'
import type { WaitingInputs } from './inbox.ts'
import { type MessageOf, messageOf } from './message.ts'
import type { Revision } from './revision.ts'

/**
 * Requests that the owner of the session stop its run, and makes a due session no longer due: items that wait by then
 * stay in the inbox until the next wake; later admissions are not affected. With `waiting`, its steers and next control
 * items are due nevertheless, once the run has ended. Returns whether there was anything to stop.
 */
export function interruptRun(revision: Revision, waiting?: WaitingInputs): boolean {
  const { running, due, interruptRequested } = revision.state
  if (running && !interruptRequested) revision.set({ interruptRequested: true })
  parkInputs(revision)
  if (waiting !== undefined && mayEnter(waiting, true).length > 0) wakeForSteers(revision)
  return running || due
}

/** One write of a step: the state of its message, the events that go with it, and what it used when it ends. */
export interface StepRecord {
  readonly message: MessageOf<'assistant'>
  readonly events: readonly DurableInit[]
  /** Added to the session's totals; set only when the step ends. */
  readonly usage?: { readonly costNanos: bigint; readonly tokens: TokenUsage }
}

/** Writes the state of a step; `before` is what was written of it last. Returns the session's last number. */
export function recordStep(
  revision: Revision,
  before: MessageOf<'assistant'> | undefined,
  { message, events, usage }: StepRecord,
): number {
  if (before === undefined) revision.insert(message)
  else revision.update(before, message)
  revision.count(message)
  if (usage !== undefined) revision.addUsage(usage.costNanos, usage.tokens)
  const step = message.kind.value
  for (const data of events) revision.event(withTotals(data, revision.state), partBehind(step, data))
  if (step.completeTime !== undefined && step.error === undefined) revision.set({ acquisitions: 0 })
  revision.touch()
  return revision.state.seq
}

/**
 * Ends the run, if one has begun, and the lease with it: writes an event, an idle message, outcome and idleTime, and
 * clears an interrupt request. Items that are due by then stay due for the next owner, whatever the outcome.
 */
export function endRun(
  revision: Revision,
  outcome: Outcome,
  error: StructuredError | undefined,
  reason: 'user' | 'shutdown' | undefined = outcome === Outcome.INTERRUPTED ? 'user' : undefined,
): void {
  const { running, interruptRequested, idleTime } = revision.state
  if (running) {
    if (outcome !== Outcome.INTERRUPTED && !interruptRequested) endJoined(revision)
    const goesOn = outcome === Outcome.INTERRUPTED ? revision.state.due : undefined
    revision.insert(messageOf(revision.newMessage(), 'idle', { outcome, error, goesOn }))
    revision.event({ case: 'executionEnded', value: { outcome, error, reason } })
    const idle = Math.max(revision.now, (idleTime ?? 0) + 1)
    revision.set({ running: false, interruptRequested: false, outcome, idleTime: idle })
  }
  revision.set({ leaseUntil: 0, acquisitions: 0 })
}

/**
 * Fails a run that makes no progress. If no run has begun, one begins and fails, and the inputs that were due wait for
 * the next wake.
 */
export function abandonRun(revision: Revision, error: StructuredError): void {
  if (!revision.state.running) {
    parkInputs(revision)
    revision.set({ running: true })
    revision.event({ case: 'executionStarted', value: {} })
  }
  endRun(revision, Outcome.FAILED, error)
}

/** What is known of a run whose owner stopped or died. */
export interface CutOff {
  /** When its lease ended; 0: it was given back, or its store was opened again. */
  readonly heldUntil: number
  /** The duration of leases, and the interval of renewals. */
  readonly leaseMs: number
  readonly renewMs: number
  /** For how long this process has been ready. */
  readonly upMs: number
}

/**
 * Ends a run that was cut off as interrupted, instead of continuing it. Inputs that waited by then are parked: the
 * session stays due only if it was woken later. A live owner renews its lease, so an owner that did not was dead; and
 * inputs older than this process have waited for its start.
 */
export function endCutOff(revision: Revision, { heldUntil, leaseMs, renewMs, upMs }: CutOff): void {
  const { wake, interruptRequested } = revision.state
  // Wakes have times in whole milliseconds, so one in the same millisecond as the start may have come after it.
  const readyAt = Math.floor(revision.leaseNow - upMs)
  if (wake === undefined || wake.at < readyAt || wake.at <= heldUntil - leaseMs + renewMs) parkInputs(revision)
  endRun(revision, Outcome.INTERRUPTED, undefined, interruptRequested ? 'user' : 'shutdown')
}

export interface GivingBack {
  /** End the run where it was cut off. */
  readonly park?: boolean
  /** Keep counting the acquisition. */
  readonly counts?: boolean
}

/** Gives back a lease, which may have been lost by now. Its acquisition no longer counts, unless `counts` is set. */
export function giveBack(revision: Revision, fence: number, { park = false, counts = false }: GivingBack = {}): void {
  const { acquisitions, leaseUntil, running, fence: newest } = revision.state
  if (fence === newest && leaseUntil === 0) return
  if (acquisitions > 0 && !counts) revision.set({ acquisitions: acquisitions - 1 })
  if (fence !== newest) return
  revision.set({ leaseUntil: 0 })
  if (park && running) parkInputs(revision)
}
