import type { PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PermissionRequest, SavedApproval, Session } from '#gen/portico/session/v1/session_pb.js'
import type { ListSessionsRequest, Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { StoredMessage } from '../domain/message.ts'
import type { CountedActivity } from '../domain/stats/stats.ts'

/** A page of a list. `more` says whether further items follow in the direction that was read. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly more: boolean
}

/** A page of a session's messages. */
export interface MessagePage extends Page<StoredMessage> {
  /** Stays the same as long as the session is there: one that is made under its id after its removal has another. */
  readonly incarnation: string
}

/**
 * Filters are exact, but for `search`: part of the title, letter case ignored as Unicode has it (`foldCase`), `%` and
 * `_` nothing special.
 */
export interface SessionQuery
  extends Readonly<Pick<ListSessionsRequest, 'search' | 'directory' | 'projectId' | 'subpath'>> {
  readonly limit: number
  readonly order: Order
  /** Null: root sessions only. */
  readonly parentId?: string | null
  /** Only sessions whose last activity was then or earlier. */
  readonly until?: number
  /** Only items after this one, at the place where it was when it was read. */
  readonly after?: Place
}

/** The position of a session in lists. */
export interface Place {
  readonly updateTime: number
  readonly sessionId: string
}

/** What is known of a session whose record cannot be read. It can only be removed. */
export interface UnreadableSession {
  readonly sessionId: string
  readonly updateTime: number
  /** What reading it throws. */
  readonly unreadable: unknown
}

/** See MessageQuery. */
export const RECORD_BYTES = 1_024

export interface MessageQuery {
  /** Only messages of this kind, as the proto names it in code (`agentSwitched`). */
  readonly type?: string
  readonly limit: number
  /**
   * The page ends before a message with which its records would have more bytes, but not before its first one; each
   * message and each part counts `RECORD_BYTES` more than it holds.
   */
  readonly bytes?: number
  readonly order: Order
  readonly anchor?: { readonly seq: number; readonly direction: 'next' | 'previous' }
}

export interface ActivityQuery {
  /** First millisecond; undefined: from the first activity on. */
  readonly from: number | undefined
  /** The millisecond after the last one. */
  readonly to: number
  /** Only sessions that belong to this project now. */
  readonly projectId: string | undefined
  /** Whether tool calls are read, too. */
  readonly calls: boolean
}

/** Read-only access to sessions. */
export interface SessionLists {
  getSession(workspace: string, sessionId: string): Promise<Session | undefined>
  /** The parent of a session, also of one that cannot be read. Undefined: there is none, or no such session. */
  parentOf(workspace: string, sessionId: string): Promise<string | undefined>
  /**
   * At most `limit` sessions, ordered by (updateTime, sessionId), in batches. Each batch takes a bounded time, in which
   * nobody else is kept waiting, and may be empty. What a page costs does not grow with the number of sessions where
   * there is one filter, or a project and a subpath; else, and with a search, every session may have to be looked at,
   * some thousands in each batch. A session that cannot be read has its place, and spoils no other.
   */
  listSessions(workspace: string, query: SessionQuery): AsyncIterable<readonly (Session | UnreadableSession)[]>
  /** Ids of sessions with a live lease. */
  listActive(workspace: string): Promise<readonly string[]>
  /** Ordered by seq. Undefined: no such session. */
  listMessages(workspace: string, sessionId: string, query: MessageQuery): Promise<MessagePage | undefined>
  getMessage(workspace: string, sessionId: string, messageId: string): Promise<StoredMessage | undefined>
  /** The session of a request that waits for an answer and has not expired. Undefined: there is no such request. */
  sessionOfRequest(workspace: string, requestId: string): Promise<string | undefined>
  /** Requests that wait for an answer and have not expired, oldest first, at most 1,000. */
  listPermissionRequests(workspace: string, sessionId?: string): Promise<readonly PermissionRequest[]>
  /** All such requests of a workspace, oldest first, in batches as those of `listSessions`. */
  waitingRequests(workspace: string): AsyncIterable<readonly PermissionRequest[]>
  /** Approvals saved for a project, as `allow` rules. */
  savedApprovals(workspace: string, projectId: string): Promise<readonly PermissionRule[]>
  /**
   * What counts of the sessions that are there, in order of time, in batches as those of `listSessions`. A session that
   * is removed or moved meanwhile may be in some of them.
   */
  listActivity(workspace: string, query: ActivityQuery): AsyncIterable<readonly CountedActivity[]>
  /** Approvals saved for a project, or for all of them, ordered by project, action and pattern, at most 10,000. */
  listApprovals(workspace: string, projectId?: string): Promise<readonly SavedApproval[]>
  /** Forgets an approval, if it exists. */
  deleteApproval(workspace: string, approvalId: string): Promise<void>
}
