import type { ClientSession } from 'mongodb'
import type { SessionState } from '#services/session/domain/session-state.ts'
import type { InboxRecord } from '../tables/inbox.ts'

/** An inbox item that is added, or the fact that an existing one changes. */
export type Unwritten = InboxRecord | 'changed'

export interface Transaction {
  readonly session: ClientSession
  /** What the transaction does to an inbox item and has not written yet. */
  unwritten(id: string): Unwritten | undefined
  /** Deletes what is left under an id that is no longer in use. */
  evict(id: string): Promise<void>
  /** Writes what is pending. */
  flush(): Promise<void>
}

export interface ServerState {
  readonly state: SessionState
  /** See SessionDocument. */
  readonly base: number
  readonly leaseNow: number
}
