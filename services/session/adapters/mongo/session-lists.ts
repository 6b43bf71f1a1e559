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
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { listActivity } from './activity.ts'
import { keyOf, SERVER_NOW } from './collections.ts'
import { listSessions } from './list-sessions.ts'
import { listMessages } from './messages.ts'
import {
  deleteApproval,
  listApprovals,
  listPermissionRequests,
  savedApprovals,
  sessionOfRequest,
  waitingRequests,
} from './permissions.ts'
import { MongoReads } from './reads.ts'
import type { StoreParts } from './store-parts.ts'

export class MongoSessionLists implements SessionLists {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  getSession(workspace: string, sessionId: string): Promise<Session | undefined> {
    return this.#reads(workspace, sessionId).sessionIfAny()
  }

  async parentOf(workspace: string, sessionId: string): Promise<string | undefined> {
    const options = { projection: { parentId: 1 }, maxTimeMS: MAX_TIME_MS }
    const document = await this.#parts.collections.sessions.findOne({ _id: keyOf(workspace, sessionId) }, options)
    return document?.parentId ?? undefined
  }

  listSessions(workspace: string, query: SessionQuery): AsyncIterable<readonly (Session | UnreadableSession)[]> {
    return listSessions(this.#parts.collections, workspace, query)
  }

  listActivity(workspace: string, query: ActivityQuery): AsyncIterable<readonly CountedActivity[]> {
    return listActivity(this.#parts.collections, workspace, query)
  }

  async listMessages(workspace: string, sessionId: string, query: MessageQuery) {
    const { collections } = this.#parts
    for (let base = 0; ; ) {
      const page = await listMessages(collections, workspace, sessionId, query, base)
      // Read last: a session that is being removed while its messages are read is not there.
      const state = await this.#reads(workspace, sessionId).state()
      if (state === undefined) return undefined
      if (state.base === base) return { ...page, incarnation: String(base) }
      base = state.base
    }
  }

  async getMessage(workspace: string, sessionId: string, messageId: string): Promise<StoredMessage | undefined> {
    const reads = this.#reads(workspace, sessionId)
    const message = await reads.message(messageId)
    const state = message && (await reads.state())
    return state !== undefined && message !== undefined && message.seq > state.base ? message : undefined
  }

  async listActive(workspace: string): Promise<readonly string[]> {
    const live = { workspace, leaseUntil: { $gt: 0 }, $expr: { $gt: ['$leaseUntil', SERVER_NOW] } }
    const options = { projection: { sessionId: 1 }, maxTimeMS: MAX_TIME_MS }
    const sessions = await this.#parts.collections.sessions.find(live, options).toArray()
    return sessions.map(({ sessionId }) => sessionId)
  }

  sessionOfRequest(workspace: string, requestId: string): Promise<string | undefined> {
    const { collections, clock } = this.#parts
    return sessionOfRequest(collections, workspace, requestId, clock.now())
  }

  listPermissionRequests(workspace: string, sessionId?: string): Promise<readonly PermissionRequest[]> {
    const { collections, clock } = this.#parts
    return listPermissionRequests(collections, workspace, sessionId, clock.now())
  }

  waitingRequests(workspace: string): AsyncIterable<readonly PermissionRequest[]> {
    const { collections, clock } = this.#parts
    return waitingRequests(collections, workspace, clock.now())
  }

  savedApprovals(workspace: string, projectId: string): Promise<readonly PermissionRule[]> {
    return savedApprovals(this.#parts.collections, workspace, projectId)
  }

  #reads(workspace: string, sessionId: string): MongoReads {
    return new MongoReads(this.#parts.collections, workspace, sessionId)
  }

  listApprovals(workspace: string, projectId?: string): Promise<readonly SavedApproval[]> {
    return listApprovals(this.#parts.collections, workspace, projectId)
  }

  deleteApproval(workspace: string, approvalId: string): Promise<void> {
    return deleteApproval(this.#parts.collections, workspace, approvalId)
  }
}
