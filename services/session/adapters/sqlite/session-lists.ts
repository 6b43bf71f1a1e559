import type { PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PermissionRequest, SavedApproval, Session } from '#gen/portico/session/v1/session_pb.js'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type {
  ActivityQuery,
  MessageQuery,
  SessionLists,
  SessionQuery,
  UnreadableSession,
} from '#services/session/ports/session-lists.ts'
import { listActivity } from './activity.ts'
import { listSessions } from './list-sessions.ts'
import { listMessages, readMessage, readStored } from './messages.ts'
import {
  deleteApproval,
  listApprovals,
  listPermissionRequests,
  savedApprovals,
  sessionOfRequest,
  waitingRequests,
} from './permissions.ts'
import { readSession } from './reads.ts'
import type { StoreParts } from './store-parts.ts'

export class SqliteSessionLists implements SessionLists {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async getSession(workspace: string, sessionId: string): Promise<Session | undefined> {
    return readSession(this.#parts.file, workspace, sessionId)
  }

  async parentOf(workspace: string, sessionId: string): Promise<string | undefined> {
    const sql = 'SELECT parentId FROM sessions WHERE workspace = ? AND sessionId = ?'
    return (this.#parts.file.statement(sql).get(workspace, sessionId)?.parentId ?? undefined) as string | undefined
  }

  listSessions(workspace: string, query: SessionQuery): AsyncIterable<readonly (Session | UnreadableSession)[]> {
    return listSessions(this.#parts.file, workspace, query)
  }

  listActivity(workspace: string, query: ActivityQuery): AsyncIterable<readonly CountedActivity[]> {
    return listActivity(this.#parts.file, workspace, query)
  }

  async listMessages(workspace: string, sessionId: string, query: MessageQuery) {
    return listMessages(this.#parts.file, workspace, sessionId, query)
  }

  async getMessage(workspace: string, sessionId: string, messageId: string): Promise<StoredMessage | undefined> {
    const { file } = this.#parts
    const record = readMessage(file, workspace, sessionId, messageId)
    return record && readStored(file, record)
  }

  async listActive(workspace: string): Promise<readonly string[]> {
    const { file, clock } = this.#parts
    const sql = 'SELECT sessionId FROM sessions WHERE workspace = ? AND leaseUntil > 0 AND leaseUntil > ?'
    const live = file.statement(sql).all(workspace, clock.now())
    return live.map(({ sessionId }) => sessionId as string)
  }

  async sessionOfRequest(workspace: string, requestId: string): Promise<string | undefined> {
    return sessionOfRequest(this.#parts.file, workspace, requestId, this.#parts.clock.now())
  }

  async listPermissionRequests(workspace: string, sessionId?: string): Promise<readonly PermissionRequest[]> {
    return listPermissionRequests(this.#parts.file, workspace, sessionId, this.#parts.clock.now())
  }

  waitingRequests(workspace: string): AsyncIterable<readonly PermissionRequest[]> {
    return waitingRequests(this.#parts.file, workspace, this.#parts.clock.now())
  }

  async savedApprovals(workspace: string, projectId: string): Promise<readonly PermissionRule[]> {
    return savedApprovals(this.#parts.file, workspace, projectId)
  }

  async listApprovals(workspace: string, projectId?: string): Promise<readonly SavedApproval[]> {
    return listApprovals(this.#parts.file, workspace, projectId)
  }

  deleteApproval(workspace: string, approvalId: string): Promise<void> {
    return deleteApproval(this.#parts.file, workspace, approvalId)
  }
}
