import type { ClientSession } from 'mongodb'
import type { SessionState } from '#services/session/domain/session-state.ts'
import type { InboxRecord } from '../common/inbox-record.ts'

/** An inbox item that is added, or that one which is there changes. */
export type Unwritten = InboxRecord | 'changed'

/** The transaction that is read in. */
export interface Transaction {
  readonly session: ClientSession
  /** What the transaction does to an inbox item and has not written yet. */
  unwritten(id: string): Unwritten | undefined
  /** Deletes what is left under an id that names nothing any more. */
  evict(id: string): Promise<void>
  /** Writes what is not written yet. */
  flush(): Promise<void>
}

/** The state of a session, and the server's time. */
export interface ServerState {
  readonly state: SessionState
  /** See SessionDocument. */
  readonly base: number
  readonly leaseNow: number
}
