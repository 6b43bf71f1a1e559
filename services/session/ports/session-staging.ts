import type { Message } from '#gen/portico/session/v1/message_pb.js'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import type { CreateSession } from '../domain/new-session.ts'

/** A session that is being written and is not visible yet. */
export interface StagedSession {
  readonly workspace: string
  readonly sessionId: string
  /** Identifies this attempt: a later attempt with the same id has another key. */
  readonly key: string
  readonly source?: StagedSource | undefined
}

/** The session that the messages are copied from; as long as it exists, the blobs that they refer to are in use. */
export interface StagedSource {
  readonly sessionId: string
  /** See MessagePage. */
  readonly incarnation: string
}

/** The ways to make a session other than creating it. */
export type StagedKind = 'fork' | 'import'

/** How long a staged session lives without being extended, in milliseconds. */
export const STAGED_MS = 60_000

/**
 * How to create a session that is too large for one transaction: its messages are written little by little, and it
 * becomes visible with the last write, `commitStaged`. Whatever happens before, a kill included, leaves nothing: a
 * staged session that is given up, or was not extended for a minute, is removed like any other, without an event.
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
 * A session that is created under the same id meanwhile wins, and so does one that is staged again: then the methods
 * below reject with SESSION_EXISTS. Once the other one has come to nothing, or the time is up, they reject with
 * STORE_UNAVAILABLE.
 */
export interface SessionStaging {
  /** Begins. Rejects with SESSION_EXISTS when the session is there. */
  stageSession(workspace: string, sessionId: string, kind: StagedKind, source?: StagedSource): Promise<StagedSession>
  /**
   * Appends settled messages, in order, in one transaction, and extends the time. Rejects with MESSAGE_EXISTS, writing
   * nothing, if one of their ids names something in the workspace. Others wait meanwhile, so append few at a time: 100,
   * or half a megabyte. Blobs that they refer to must be held, unless they come from `source`: rejects with
   * SESSION_NOT_FOUND when that is gone.
   */
  appendStaged(staged: StagedSession, messages: readonly Message[]): Promise<void>
  /**
   * Writes the session and the events of its revision, whose numbers go on after `seq`, and shows it. Rejects with
   * SESSION_NOT_FOUND when its parent is not there.
   */
  commitStaged(staged: StagedSession, create: CreateSession): Promise<Session>
  /** Gives it up: what was written is removed. Nothing happens when it was committed, or is gone already. */
  giveUpStaged(staged: StagedSession): Promise<void>
}
