import { create } from '@bufbuild/protobuf'
import { SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { Clock } from '#shared/clock.ts'
import type { TimedPrefix } from '#shared/ids.ts'
import type { Places } from '#shared/places.ts'
import { Rejection } from '#shared/rejection.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { VolatileInit } from '../domain/event.ts'
import { absenceDelay, isAway } from '../domain/generation/retry.ts'
import type { Admitter } from '../domain/inbox.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Catalog } from '../ports/catalog.ts'
import type { Inference } from '../ports/inference.ts'
import type { PeerCall } from '../ports/peer-call.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { EventHub, Mark } from './events/event-hub.ts'
import type { OwnedSession } from './owned-session.ts'
import type { Pause } from './pause.ts'
import type { SessionWatchers } from './session-watchers.ts'
import type { Slot } from './slots.ts'
import type { WaitingParents } from './subagents/waiting-parents.ts'
import type { Tenure } from './tenure.ts'
import type { Titles } from './titles/titles.ts'

/** What running sessions needs. */
export interface RunDependencies {
  readonly store: SessionStore
  readonly blobs: BlobStore
  readonly catalog: Catalog
  readonly inference: Inference
  readonly hub: EventHub
  readonly watchers: SessionWatchers
  readonly titles: Titles
  readonly clock: Clock
  readonly logger: Logger
  readonly newId: (prefix: TimedPrefix) => string
  readonly pause: Pause
  readonly health: StoreHealth
  /** Aborts when the process is about to end, after all runs have ended. */
  readonly closing: AbortSignal
  /** From 0 to 1. */
  readonly random: () => number
  /** Whether runs that a stop or crash cut off go on by themselves. */
  readonly autoResume: boolean
  /** How long leases last. */
  readonly leaseMs: number
  /** Monotonic time at which the process was ready to run sessions. */
  readonly startedAt: number
  /** The fence under which this process drains a session, or left it unfinished, by workspace and session. */
  readonly fences: Map<string, number>
  /** How much of a model's context is used up when a conversation is summarized. */
  readonly compactionPercent: number
  /** How long a permission request waits for an answer. */
  readonly permissionTimeoutMs: number
  readonly subagents: SubagentLimits
}

export interface SubagentLimits {
  /** How many levels of child sessions there may be; 0: no session may delegate. */
  readonly depth: number
  /** How long a task takes at most. */
  readonly limitMs: number
  readonly parents: WaitingParents
  /** Creating a child session writes its parent, so only a few may be created at once. */
  readonly places: Places
}

/** A run at one of its steps: who owns it, on whose behalf it goes on, and what it works on. */
export interface RunContext extends RunDependencies {
  readonly tenure: Tenure
  readonly owned: OwnedSession
  readonly slot: Slot
  readonly principal: Admitter
  readonly session: Session
}

/** The run, or the step, can't go on; the error is what users see. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure'
  readonly error: StructuredError

  constructor(error: StructuredError, options?: ErrorOptions) {
    super(error.message, options)
    this.error = error
  }
}

/** A call to a peer on behalf of the run; it ends when the run stops. */
export function runCall(run: RunContext, signal = run.tenure.signal): PeerCall {
  return { principal: run.principal, requestId: undefined, signal }
}

/** Whether a retry may succeed: the peer can't be reached, or failed without a planned reason. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof Rejection) || isAway(error.reason)
}

const UNEXPLAINED_RETRIES = 3

/**
 * Calls a peer. While the peer is unavailable, the call is repeated for about a minute (`absenceDelay`), so that its
 * restart fails no run; a call that fails without a planned reason is repeated three times.
 */
export async function tryPeer<T>(
  { pause, random }: RunDependencies,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error
      if (!(error instanceof Rejection) && attempt > UNEXPLAINED_RETRIES) throw error
      const delay = absenceDelay(attempt, random)
      if (delay === undefined) throw error
      await pause(delay, signal)
    }
  }
}

/** The durable event that volatile ones follow. */
export interface LastEvent {
  readonly seq: number
  readonly mark: Mark
}

/** Sends volatile events to those who listen; returns whether anybody does. */
export function sendEvents(
  { hub, session, tenure, newId, clock }: RunContext,
  events: readonly VolatileInit[],
  { seq: afterSeq, mark }: LastEvent,
): boolean {
  const { workspace, sessionId } = tenure.lease
  if (events.length === 0 || !hub.hasListener(workspace)) return false
  const { directory } = session
  const sent = events.map((event) => {
    const place = { eventId: newId('evt'), createTime: clock.now(), sessionId, directory }
    return { ...create(SessionEventSchema, { ...place, event }), workspace, afterSeq }
  })
  hub.publish(sent, mark)
  return true
}
