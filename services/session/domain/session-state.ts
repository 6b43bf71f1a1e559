import type { Admitter } from './inbox.ts'
import type { ModelRef, Outcome, Session, TokenUsage } from './session.ts'

/** How a session became due. */
export interface Wake {
  /** When, on the clock that leases are measured by. */
  readonly at: number
  /** For steers, and for the control items that are next: queued inputs stay parked. */
  readonly steersOnly: boolean
  /** To go on where the last run was interrupted or failed, if it was. */
  readonly resume: boolean
  /** For whose account; undefined: that of the last run. */
  readonly resumer?: Admitter | undefined
}

/** What of a session changes, bookkeeping included: all that a rule needs to know of it. */
export interface SessionState {
  readonly id: string
  readonly directory: string
  readonly projectId: string
  readonly subpath: string
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  readonly costNanos: bigint
  readonly tokens: TokenUsage
  readonly outcome: Outcome | undefined
  readonly timeUpdated: number
  readonly timeIdle: number | undefined
  readonly timeViewed: number | undefined
  /** The request that is to find the title, FIRST_INPUT before it is made; undefined: the title stays as it is. */
  readonly titling: string | undefined
  /** Number of the last inbox item, message, event or permission request. */
  readonly seq: number
  /** There are inputs to process. */
  readonly due: boolean
  /** How the session became due last; undefined: it never did. */
  readonly wake: Wake | undefined
  /** A run has begun and not ended. */
  readonly running: boolean
  /** An interrupt of the run was requested; never without one. */
  readonly interruptRequested: boolean
  /** Who admitted the last input that was promoted. */
  readonly lastAdmitter: Admitter | undefined
  /** Number of the newest lease. */
  readonly fence: number
  /** How many leases were given since the session last got on, without those that were given back. */
  readonly acquisitions: number
  /** When the lease ends, on the clock that leases are measured by; 0: nobody holds one. */
  readonly leaseUntil: number
  /** From when on the lease may be given, on the same clock; undefined while there is no work. */
  readonly claimableAt: number | undefined
}

/** What the claim of a session follows from. */
export type ClaimState = Pick<SessionState, 'running' | 'due' | 'leaseUntil' | 'claimableAt'>

/** The title is to be found once the first input is promoted. */
export const FIRST_INPUT = 'first-input'

/**
 * The state of a session that is about to be created. Fencing tokens begin with the time, so that no session has one that another
 * session had under the same id before it was removed.
 */
export function newState(session: Session, now: number, seq = 0): SessionState {
  const { id, location, agent, model, costNanos, tokens, outcome, timeUpdated, timeIdle, timeViewed } = session
  const { directory, projectId, subpath } = location
  return {
    id,
    directory,
    projectId,
    subpath,
    agent,
    model,
    costNanos,
    tokens,
    outcome,
    timeUpdated,
    timeIdle,
    timeViewed,
    titling: session.title === undefined ? FIRST_INPUT : undefined,
    seq,
    due: false,
    wake: undefined,
    running: false,
    interruptRequested: false,
    lastAdmitter: undefined,
    fence: now,
    acquisitions: 0,
    leaseUntil: 0,
    claimableAt: undefined,
  }
}

/** Whether somebody may drain the session now. */
export function isLeaseLive(state: Pick<SessionState, 'leaseUntil'>, leaseNow: number): boolean {
  return state.leaseUntil > leaseNow
}

/** Whether a run has begun or is due, or somebody holds the lease. */
export function isBusy(state: SessionState, leaseNow: number): boolean {
  return state.running || state.due || isLeaseLive(state, leaseNow)
}

/**
 * From when on the lease may be given. The oldest claim is served first, so a session that waits already keeps its
 * place, and one whose owner died comes in turn when its lease has run out. A session has a claim exactly while it has work:
 * whatever gives, renews or ends a lease needs only move it.
 */
export function nextClaim(state: ClaimState, leaseNow: number): number | undefined {
  if (!state.running && !state.due) return undefined
  if (isLeaseLive(state, leaseNow)) return state.leaseUntil
  return Math.min(state.claimableAt ?? leaseNow, leaseNow)
}
