import type { LeftTools } from '../domain/lifetime/removal.ts'

/** A session that is no longer visible, and whose records remain to be deleted. */
export interface Removal {
  readonly workspace: string
  readonly sessionId: string
  /** Tool calls to be ended; undefined where none can run. */
  readonly tools: LeftTools | undefined
  /** Identifies the removal in the store: sessions with the same id may have been removed several times. */
  readonly key: string
}

/**
 * How sessions are removed. A session is visible only by its own record. `removeSession` deletes that record, and any
 * process deletes the rest in the background, also after a restart. Until then, no reader or writer finds the remaining
 * records, whether by a message's id, an event's position or a request, and a session or a message may be created again
 * under the same id at once. As long as the removal's event is kept, a new session has its numbers above that event's,
 * so that a reader that has read up to a number misses nothing. A session is removed before those below it; as long as
 * one of these is left, creating a session with its id rejects with STORE_UNAVAILABLE.
 */
export interface SessionRemoval {
  /**
   * Deletes a session's record, with the requests that wait in it, in one transaction, which also writes its
   * SessionDeleted event. The remaining records can then be acquired for deletion. Rejects with SESSION_NOT_FOUND. The
   * holder of its lease, and everybody who waits for it, is notified.
   */
  removeSession(workspace: string, sessionId: string): Promise<Removal>
  /**
   * Removes some of the sessions below a removed one, as `removeSession` does, in one transaction: children before
   * their parents, and few enough not to delay others. Returns them; empty: there are no more. To be done before the
   * rest of a removal; several callers at once are allowed.
   */
  removeBelow(removal: Removal): Promise<readonly Removal[]>
  /**
   * Acquires the removal that has waited longest, for a time in which nobody else gets it. An expired staged session
   * becomes a removal. Undefined: there is none.
   */
  takeRemoval(durationMs: number): Promise<Removal | undefined>
  /**
   * Deletes some of the remaining records, few enough not to delay others, and extends the time. Returns whether
   * something may be left. May be repeated, and called by several at once.
   */
  continueRemoval(removal: Removal, durationMs: number): Promise<boolean>
  /** Forgets a removal once nothing is left of it, tool calls included. */
  endRemoval(removal: Removal): Promise<void>
}
