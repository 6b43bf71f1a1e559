import type { PermissionRequest, Session } from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import type { StepReads } from '../domain/begin-step.ts'
import type { ChangeKind } from '../domain/change.ts'
import type { CompactionReads } from '../domain/inbox/inputs.ts'
import type { MoveReads } from '../domain/inbox/move-session.ts'
import type { AdmissionReads, InboxEntry, TakenId, WaitingInputs } from '../domain/inbox.ts'
import type { CreateSession } from '../domain/new-session.ts'
import type { RequestEntry } from '../domain/permission/permission-requests.ts'
import type { Revision } from '../domain/revision.ts'
import type { SessionState } from '../domain/session-state.ts'
import type { Unfinished } from '../domain/settle-aborted.ts'
import type { EventLog } from './event-log.ts'
import type { AcquiredLease, Lease, LeaseState, SessionKey } from './lease.ts'
import type { SessionLists } from './session-lists.ts'
import type { SessionRemoval } from './session-removal.ts'
import type { SessionStaging } from './session-staging.ts'

/** A value that one store has synchronously and another has to wait for. */
export type Maybe<T> = T | Promise<T>

/** What a decision may read besides the state of its session. */
export interface SessionReads {
  /** What an id of the workspace names, in any session. */
  takenId(id: string): Maybe<TakenId | undefined>
  /** What the admission of an id depends on. */
  admissionReads(id: string): Maybe<AdmissionReads>
  /** An item that was admitted to the session, in any state. */
  item(id: string): Maybe<InboxEntry | undefined>
  /** The inputs that are next at the coming boundaries. */
  waiting(): Maybe<WaitingInputs>
  /** What the move of an id depends on. */
  moveReads(id: string): Maybe<MoveReads>
  /** What the compaction of an id depends on. */
  compactionReads(id: string): Maybe<CompactionReads>
  /** Waiting items after a place in the inbox (0: from the oldest on), in order of admission, at most `limit`. */
  inbox(afterSeq: number, limit: number): Maybe<readonly InboxEntry[]>
  /** What the next step begins with, including the messages after a place in the conversation (0: all), in order. */
  stepReads(afterSeq: number): Maybe<StepReads>
  request(id: string): Maybe<RequestEntry | undefined>
  /** Unanswered requests, including expired ones, oldest first. */
  waitingRequests(): Maybe<readonly PermissionRequest[]>
  /** Their ids. */
  waitingRequestIds(): Maybe<readonly string[]>
  unfinished(): Maybe<Unfinished>
}

/** A session's state, and the time by the injected clock and by the clock that measures leases. */
export interface SessionView {
  readonly state: SessionState
  readonly now: number
  readonly leaseNow: number
}

/**
 * What may have changed. May be notified more often than needed; see SessionStore.onChange for how late it may come.
 */
export interface SessionChange {
  /** Undefined: any workspace and session. */
  readonly workspace: string | undefined
  readonly sessionId: string | undefined
  readonly kinds: readonly ChangeKind[]
}

/**
 * Sessions, their inbox, messages, events, leases and permission requests: one aggregate, changed in one way.
 *
 * Every method takes the workspace, and another workspace's record does not exist. Times are the injected clock's, but
 * for leases in MongoDB, which are measured by the server's. A counter on the session, raised in the transaction that
 * uses it, numbers its inbox items, messages and events; ids never sort anything.
 *
 * `revise` and `inspect` reject with SESSION_NOT_FOUND when the session is not there, and under a lease with
 * LEASE_LOST, when a newer fence exists, the lease has expired or was released, or the session was removed. Then
 * nothing was written.
 */
export interface SessionStore extends SessionLists, SessionRemoval, SessionStaging, EventLog, AsyncDisposable {
  /** Writes a small record to check that the store can be written. */
  probe(): Promise<void>

  /**
   * Writes the session that `create` makes, unless it exists already; returns the session that exists afterwards. With
   * a parent, a new session is written under the parent's lease, and rejects as `revise` does.
   */
  createSession(key: SessionKey, create: CreateSession, parent?: Lease): Promise<Session>
  /**
   * Changes a session: reads, lets `decide` fill in the revision, and writes it, all in one isolated transaction.
   * Resolves with the result of `decide` after the durable commit; after a crash, either the whole revision is stored
   * or nothing. Both functions may run several times, and `decide` is pure: everything that it needs was read before.
   * The one exception is `endCutOff`, which needs this process's time at the moment for which the revision has the
   * store's time. If either function throws, nothing is written, and no other revision is affected. Revisions of one
   * session are made in the order of the calls. Those under a lease wait for an unavailable store; others only wait as
   * long as a client does.
   */
  revise<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T>
  /**
   * Reads a session. What `read` fetches may be newer than the state, and the lease may have been lost in the meantime.
   */
  inspect<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    view: (view: SessionView, read: R) => T,
  ): Promise<T>

  /**
   * Acquires the lease of a session that has work (a run that has not ended, or due inputs) and no live lease, with a
   * fence higher than all before. The session that has waited longest comes first; workspaces in `except` are skipped.
   * Undefined: there is no such session. Two callers never get the same session at once.
   */
  acquireLease(owner: string, durationMs: number, except?: readonly string[]): Promise<AcquiredLease | undefined>
  /** Extends a lease; rejects as `revise` does. Does not queue behind the session's revisions. */
  renewLease(lease: Lease, durationMs: number): Promise<LeaseState>

  /**
   * Calls the listener when a session may have changed in a way that others wait for: at once for writes of this
   * process, within two seconds for those of others, and not for a run's own writes. Never throws, and the listener
   * must not throw either; ends when the returned object is disposed.
   */
  onChange(listener: (change: SessionChange) => void): Disposable
}

/** For decisions that need only the state. */
export const nothing = (): undefined => undefined

/** The refusal of a session that the workspace does not have. */
export function sessionNotFound(sessionId: string): Rejection {
  return new Rejection('SESSION_NOT_FOUND', { session_id: sessionId })
}
