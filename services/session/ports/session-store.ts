import type { StepReads } from '../domain/begin-step.ts'
import type { ChangeKind } from '../domain/change.ts'
import type { CompactionReads } from '../domain/inbox/inputs.ts'
import type { MoveReads } from '../domain/inbox/move-session.ts'
import type { AdmissionReads, KnownItem, TakenId, WaitingInput, WaitingInputs } from '../domain/inbox.ts'
import type { CreateSession } from '../domain/new-session.ts'
import type { KnownRequest, PermissionRequest } from '../domain/permission/permission.ts'
import type { Revision } from '../domain/revision.ts'
import type { Session } from '../domain/session.ts'
import type { SessionState } from '../domain/session-state.ts'
import type { Unfinished } from '../domain/settle-aborted.ts'
import type { EventLog } from './event-log.ts'
import type { AcquiredLease, Lease, LeaseState, SessionKey } from './lease.ts'
import type { SessionLists } from './session-lists.ts'
import type { SessionRemoval } from './session-removal.ts'
import type { SessionStaging } from './session-staging.ts'

/** What is at hand at once in one store, and has to be waited for in another. */
export type Maybe<T> = T | Promise<T>

/** What a decision may need to know besides the state of its session. */
export interface SessionReads {
  /** What an id of the workspace names, in whatever session. */
  takenId(id: string): Maybe<TakenId | undefined>
  /** What an admission under an id is decided from. */
  admissionReads(id: string): Maybe<AdmissionReads>
  /** An item that was admitted to the session, whatever became of it. */
  item(id: string): Maybe<KnownItem | undefined>
  /** What has its turn at the next boundaries. */
  waiting(): Maybe<WaitingInputs>
  /** What a move under an id is decided from. */
  moveReads(id: string): Maybe<MoveReads>
  /** What a compaction under an id is decided from. */
  compactionReads(id: string): Maybe<CompactionReads>
  /** What waits in the inbox after a place in it (0: the oldest), in order of admission, at most so many. */
  inbox(afterSeq: number, limit: number): Maybe<readonly WaitingInput[]>
  /** What the next step begins with: messages after a place in the conversation (0: all), in order. */
  stepReads(afterSeq: number): Maybe<StepReads>
  request(id: string): Maybe<KnownRequest | undefined>
  /** Requests without an answer, expired ones too, oldest first. */
  waitingRequests(): Maybe<readonly PermissionRequest[]>
  /** Their ids. */
  waitingRequestIds(): Maybe<readonly string[]>
  unfinished(): Maybe<Unfinished>
}

/** A session's state, and the time: the injected clock's, and the one that leases are measured by. */
export interface SessionView {
  readonly state: SessionState
  readonly now: number
  readonly leaseNow: number
}

/** What may have changed. May be notified more often than needed; see SessionStore.onChange for how late it may come. */
export interface SessionChange {
  /** Undefined: any workspace and session. */
  readonly workspace: string | undefined
  readonly sessionId: string | undefined
  readonly kinds: readonly ChangeKind[]
}

/**
 * Sessions, their inbox, messages, events, leases and permission requests: one aggregate, changed in one way.
 *
 * Every method takes the workspace, and another workspace's record does not exist. Times are the injected clock's, but for
 * leases in MongoDB, which are measured by the server's. A counter on the session, raised in the transaction that uses it,
 * numbers its inbox items, messages and events; ids never sort anything.
 *
 * `revise` and `inspect` reject with SESSION_NOT_FOUND when the session is not there, and under a lease with LEASE_LOST, when
 * a newer fence exists, the lease has expired or was released, or the session was removed. Then nothing was written.
 */
export interface SessionStore extends SessionLists, SessionRemoval, SessionStaging, EventLog, AsyncDisposable {
  /** Writes something small of its own, as a sign that the store can be written. */
  probe(): Promise<void>

  /**
   * Writes what `create` makes, unless the session is there already; returns the session that is there afterwards. With a
   * parent, a new one is written under its lease: rejects as `revise` does.
   */
  createSession(key: SessionKey, create: CreateSession, parent?: Lease): Promise<Session>
  /**
   * Changes a session: reads, lets `decide` fill in the revision, and writes it in one transaction with nobody in between.
   * Resolves with the result of `decide` after the durable commit; after a crash either all of the revision is there or
   * nothing. Both functions may run several times, and `decide` is pure: what it knows besides was read before. The one exception is
   * `endCutOff`, which needs the time of this process at the very moment at which the revision has the store's. When one of them
   * throws, nothing is written and no other revision is concerned. Revisions of one session are made in the order of the calls, but
   * those under a lease wait for the store, and others for as long as a client does.
   */
  revise<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T>
  /** Reads a session; what `read` fetches may be newer than the state, and the lease may be lost by then. */
  inspect<R, T>(
    key: SessionKey,
    read: (reads: SessionReads) => Maybe<R>,
    view: (view: SessionView, read: R) => T,
  ): Promise<T>

  /**
   * Gives the lease of one session that has work (a run begun and not ended, or due inputs) and no live lease, with a
   * fence that is higher than any before. The session that has waited longest comes first, but none of the workspaces in
   * `except`. Undefined: there is none. Two callers never get one session at once.
   */
  acquireLease(owner: string, durationMs: number, except?: readonly string[]): Promise<AcquiredLease | undefined>
  /** Extends a lease; rejects as `revise` does. It does not wait for revisions of the session that wait. */
  renewLease(lease: Lease, durationMs: number): Promise<LeaseState>

  /**
   * Calls the listener when something of a session may have changed for those who wait: at once for writes of this
   * process, within two seconds for those of others. A run's own writes do not count. Never throws, and the listener
   * must not either; ends when the returned object is disposed.
   */
  onChange(listener: (change: SessionChange) => void): Disposable
}

/** For decisions that need nothing but the state. */
export const nothing = (): undefined => undefined
