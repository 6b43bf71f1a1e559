import type { Session, TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import type { Admitter } from './inbox.ts'
import { NO_TOKENS } from './session.ts'

/** How a session became due. */
export interface Wake {
  /** When, on the clock that leases are measured by. */
  readonly at: number
  /** For steers, and for the control items that are next: queued inputs stay parked. */
  readonly steersOnly: boolean
  /** Whether to continue the last run, if it was interrupted or failed. */
  readonly resume: boolean
  /** The principal whose account is charged; undefined: that of the last run. */
  readonly resumer?: Admitter | undefined
}

/** The members of a session that rules need. */
type OfSession = Pick<
  Session,
  | 'sessionId'
  | 'directory'
  | 'projectId'
  | 'subpath'
  | 'agent'
  | 'model'
  | 'costNanos'
  | 'outcome'
  | 'updateTime'
  | 'idleTime'
  | 'viewTime'
>

/** The mutable state of a session, bookkeeping included: everything that rules need. */
export interface SessionState extends Readonly<OfSession> {
  readonly tokens: TokenUsage
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
  /** How many leases were acquired since the session last made progress, not counting those that were given back. */
  readonly acquisitions: number
  /** When the lease ends, on the clock that leases are measured by; 0: nobody holds one. */
  readonly leaseUntil: number
  /** When the lease may be acquired next, by the same clock; undefined while there is no work. */
  readonly claimableAt: number | undefined
}

/** The members that the claim of a session depends on. */
export type ClaimState = Pick<SessionState, 'running' | 'due' | 'leaseUntil' | 'claimableAt'>

/** A title will be requested when the first input is promoted. */
export const FIRST_INPUT = 'first-input'

/**
 * The state of a session that is about to be created. Fencing tokens begin with the time, so that a session never
 * reuses the tokens of a removed session with the same id.
 */
export function newState(session: Session, now: number, seq = 0): SessionState {
  const { sessionId, directory, projectId, subpath, agent, model, costNanos, tokens = NO_TOKENS } = session
  const { outcome, updateTime, idleTime, viewTime } = session
  return {
    sessionId,
    directory,
    projectId,
    subpath,
    agent,
    model,
    costNanos,
    tokens,
    outcome,
    updateTime,
    idleTime,
    viewTime,
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

/** Whether somebody holds the lease. */
export function isLeaseLive(state: Pick<SessionState, 'leaseUntil'>, leaseNow: number): boolean {
  return state.leaseUntil > leaseNow
}

/** Whether a run has begun or is due, or somebody holds the lease. */
export function isBusy(state: SessionState, leaseNow: number): boolean {
  return state.running || state.due || isLeaseLive(state, leaseNow)
}

/**
 * When the lease may be acquired next. The oldest claim is served first, so a waiting session keeps its place, and a
 * session whose owner died gets its turn when the lease has expired. A session has a claim if and only if it has work;
 * acquiring, renewing or ending a lease only moves the claim.
 */
export function nextClaim(state: ClaimState, leaseNow: number): number | undefined {
  if (!state.running && !state.due) return undefined
  if (isLeaseLive(state, leaseNow)) return state.leaseUntil
  return Math.min(state.claimableAt ?? leaseNow, leaseNow)
}
