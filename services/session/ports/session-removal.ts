import type { LeftTools } from '../domain/lifetime/removal.ts'

/** A session that no reader sees any more, and whose records are still to be deleted. */
export interface Removal {
  readonly workspace: string
  readonly sessionId: string
  /** Tool calls to be ended; undefined where none can run. */
  readonly tools: LeftTools | undefined
  /** Names it in the store: one session id may have been removed several times. */
  readonly key: string
}

/**
 * How sessions go. A session is visible by its own record and by nothing else: `removeSession` deletes that, and the rest
 * is deleted in the background by whoever takes it up, after any restart and in any process. Until then no reader and no
 * writer comes upon what is left: not by a message's id, an event's position or a request, and a session, or a message, may be
 * made anew under the same id at once. What is made anew has its numbers above that of the removal's event, as long as that is
 * kept: whoever has read up to a number misses nothing of it. A session with others below it goes first, and these follow; as long as one of them is
 * left, making one anew under its id rejects with STORE_UNAVAILABLE.
 */
export interface SessionRemoval {
  /**
   * Deletes a session's record, with the requests that wait in it, in one transaction, which also writes its session-deleted
   * event. What is left of it is free to be taken up. Rejects with SESSION_NOT_FOUND. Whoever holds its lease, or waits for it,
   * is notified.
   */
  removeSession(workspace: string, sessionId: string): Promise<Removal>
  /**
   * Removes some of the sessions below a removed one, as `removeSession` does, in one transaction: children before their parents,
   * and so few that nobody is held up by it for long. Returns them; empty: there is none any more. To be done before the rest
   * of a removal; may be called by several at once.
   */
  removeBelow(removal: Removal): Promise<readonly Removal[]>
  /**
   * Gives a removal that nobody works at, the one that has waited longest; nobody else gets it for that time. A session that was
   * staged, and whose time is over, is one from then on. Undefined: there is none.
   */
  takeRemoval(durationMs: number): Promise<Removal | undefined>
  /**
   * Deletes some of what is left, so little that nobody is held up by it for long, and keeps the removal for that time
   * again. Returns whether something may still be left. May be called twice, and by several at once.
   */
  continueRemoval(removal: Removal, durationMs: number): Promise<boolean>
  /** Forgets a removal of which nothing is left, tool calls included. */
  endRemoval(removal: Removal): Promise<void>
}
