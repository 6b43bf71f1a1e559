import type { Message } from '../domain/message.ts'
import type { CreateSession } from '../domain/new-session.ts'
import type { Session } from '../domain/session.ts'

/** A session that is being written and that nobody sees yet. */
export interface StagedSession {
  readonly workspace: string
  readonly sessionId: string
  /** Names this attempt: a later one at the same id is another. */
  readonly key: string
  readonly source?: StagedSource | undefined
}

/** The session that messages come from; what they refer to is in use as long as that is there. */
export interface StagedSource {
  readonly sessionId: string
  /** See MessagePage. */
  readonly incarnation: string
}

/** What makes a session other than its creation. */
export type StagedKind = 'fork' | 'import'

/** So long a staged session lives without being extended, in milliseconds. */
export const STAGED_MS = 60_000

/**
 * How a session comes into being whole that is too large for one transaction: its messages are written little by little, and
 * it is there for everybody with the last write, `commitStaged`. Whatever happens before, a kill included, leaves nothing: a
 * staged session that is given up, or that nobody has extended for a minute, is removed as any other, without an event.
 *
 * ```ts
 * const staged = await store.stageSession(workspace, sessionId, 'import')
 * try {
 *   for (…) await store.appendStaged(staged, batch)
 *   return await store.commitStaged(staged, (now, newId, seq) => …)
 * } catch (error) {
 *   await store.giveUpStaged(staged)
 *   throw error
 * }
 * ```
 *
 * A session that is created under the same id meanwhile wins, and so does one that is staged again: then the methods below reject
 * with SESSION_EXISTS. When the other one has come to nothing, and when the time is over, they reject with STORE_UNAVAILABLE.
 */
export interface SessionStaging {
  /** Begins. Rejects with SESSION_EXISTS when the session is there. */
  stageSession(workspace: string, sessionId: string, kind: StagedKind, source?: StagedSource): Promise<StagedSession>
  /**
   * Appends settled messages, in order, in one transaction, and extends the time. Rejects with MESSAGE_EXISTS when one of their
   * ids names something in the workspace; nothing is written then. Everybody else waits meanwhile: give few at once, 100 or
   * half a megabyte. Blobs that they refer to must be held, unless they come from `source`: rejects with SESSION_NOT_FOUND when that
   * is gone.
   */
  appendStaged(staged: StagedSession, messages: readonly Message[]): Promise<void>
  /** Extends the time, where the next messages are long in coming. */
  extendStaged(staged: StagedSession): Promise<void>
  /**
   * Writes the session and the events of its revision, whose numbers go on after `seq`, and shows it. Rejects with
   * SESSION_NOT_FOUND when its parent is not there.
   */
  commitStaged(staged: StagedSession, create: CreateSession): Promise<Session>
  /** Gives it up: what was written is removed. Nothing happens when it was committed, or is gone already. */
  giveUpStaged(staged: StagedSession): Promise<void>
}
