import { type DurableEventData, withTotals } from './event.ts'
import { partBehind } from './event-part.ts'
import { mayEnter } from './inbox/promotion.ts'
import { endJoined, parkInputs, wakeForSteers } from './inbox/wake.ts'
import type { WaitingInputs } from './inbox.ts'
import type { AssistantMessage, StructuredError } from './message.ts'
import type { Revision } from './revision.ts'
import type { Outcome, TokenUsage } from './session.ts'

/**
 * Requests that whoever drains the session stops its run, and makes a session that is due no longer due: what waits by then
 * stays in the inbox until the next wake, and what is admitted afterwards is not concerned. With `waiting`, the steers and the
 * control items that are next in it are due all the same, once the run has ended. Returns whether there was anything to stop.
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
  readonly message: AssistantMessage
  readonly events: readonly DurableEventData[]
  /** Added to the session's totals; given once in a step, when it ends. */
  readonly usage?: { readonly costNanos: bigint; readonly tokens: TokenUsage }
}

/** Writes the state of a step; `before` is what was written of it last. Returns the session's last number. */
export function recordStep(
  revision: Revision,
  before: AssistantMessage | undefined,
  { message, events, usage }: StepRecord,
): number {
  if (before === undefined) revision.insert(message)
  else revision.update(before, message)
  revision.count(message)
  if (usage !== undefined) revision.addUsage(usage.costNanos, usage.tokens)
  for (const data of events) revision.event(withTotals(data, revision.state), partBehind(message, data))
  if (message.timeCompleted !== undefined && message.error === undefined) revision.set({ acquisitions: 0 })
  revision.touch()
  return revision.state.seq
}

/**
 * Ends the run, if one has begun, and the lease with it: an event, an idle message, outcome and timeIdle; a request to
 * interrupt is cleared. What is due by then, whatever the outcome, stays due for whoever acquires the lease next.
 */
export function endRun(
  revision: Revision,
  outcome: Outcome,
  error: StructuredError | undefined,
  reason: 'user' | 'shutdown' | undefined = outcome === 'interrupted' ? 'user' : undefined,
): void {
  const { running, interruptRequested, timeIdle } = revision.state
  if (running) {
    if (outcome !== 'interrupted' && !interruptRequested) endJoined(revision)
    revision.insert({ type: 'idle', ...revision.newMessage(), outcome, error })
    revision.event({ type: 'execution-ended', outcome, error, reason })
    const idle = Math.max(revision.now, (timeIdle ?? 0) + 1)
    revision.set({ running: false, interruptRequested: false, outcome, timeIdle: idle })
  }
  revision.set({ leaseUntil: 0, acquisitions: 0 })
}

/**
 * Ends as failed what nobody gets on with. Where no run has begun, one begins and ends, and the inputs that were due wait
 * for the next wake.
 */
export function abandonRun(revision: Revision, error: StructuredError): void {
  if (!revision.state.running) {
    parkInputs(revision)
    revision.set({ running: true })
    revision.event({ type: 'execution-started' })
  }
  endRun(revision, 'failed', error)
}

/** What is known of a run whose owner was stopped or died. */
export interface CutOff {
  /** Until when its lease lasted; 0: it was given back, or its store was opened anew. */
  readonly heldUntil: number
  /** How long leases last, and after what time they are renewed. */
  readonly leaseMs: number
  readonly renewMs: number
  /** For how long this process has been there. */
  readonly upMs: number
}

/**
 * Ends a run that was cut off as interrupted, instead of going on with it. Inputs that waited by then are parked: the session
 * stays due only if it was woken later. An owner that is alive renews its lease, so one that did not was dead; and what was
 * there before this process had waited for its start.
 */
export function endCutOff(revision: Revision, { heldUntil, leaseMs, renewMs, upMs }: CutOff): void {
  const { wake, interruptRequested } = revision.state
  // The times of wakes are whole milliseconds: one of the millisecond in which this process was ready may be later.
  const readyAt = Math.floor(revision.leaseNow - upMs)
  if (wake === undefined || wake.at < readyAt || wake.at <= heldUntil - leaseMs + renewMs) parkInputs(revision)
  endRun(revision, 'interrupted', undefined, interruptRequested ? 'user' : 'shutdown')
}

/** How a lease is given back. */
export interface GivingBack {
  /** The run is to end where it was cut off. */
  readonly park?: boolean
  /** It stays an acquisition. */
  readonly counts?: boolean
}

/** Gives a lease back that may be lost by now: it counts as no acquisition, unless that is said. */
export function giveBack(revision: Revision, fence: number, { park = false, counts = false }: GivingBack = {}): void {
  const { acquisitions, leaseUntil, running, fence: newest } = revision.state
  if (fence === newest && leaseUntil === 0) return
  if (acquisitions > 0 && !counts) revision.set({ acquisitions: acquisitions - 1 })
  if (fence !== newest) return
  revision.set({ leaseUntil: 0 })
  if (park && running) parkInputs(revision)
}
