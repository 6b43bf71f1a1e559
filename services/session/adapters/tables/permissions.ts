import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { type PermissionRule, PermissionRule_Effect, PermissionRuleSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type PermissionReply,
  type PermissionRequest,
  PermissionRequestSchema,
  type SavedApproval,
  SavedApprovalSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type { RequestEntry } from '#services/session/domain/permission/permission-requests.ts'
import type { Write } from '#services/session/domain/write.ts'
import { defineTable, integer, message, optional, type RowOf, text } from '#shared/stores/table.ts'

const only = (condition: object) => ({ partialFilterExpression: condition })

/** What a run asks its people. It waits while `reply` is null. */
export const requests = defineTable({
  name: 'requests',
  columns: {
    workspace: text(),
    id: text(),
    sessionId: text(),
    seq: integer(),
    reply: optional(integer<PermissionReply>()),
    message: text(),
    timeCreated: integer(),
    timeExpires: integer(),
    data: message(PermissionRequestSchema),
  },
  sqlite: {
    columns: { session: integer() },
    primaryKey: ['workspace', 'id'],
    indexes: {
      requestsWaiting: '(workspace, timeCreated, seq) WHERE reply IS NULL',
      requestsWaitingInSession: '(workspace, sessionId, seq) WHERE reply IS NULL',
      requestsAnswered: '(session) WHERE reply IS NOT NULL',
    },
  },
  mongo: {
    indexes: [
      { name: 'requestsWaiting', key: { workspace: 1, timeCreated: 1, seq: 1 }, ...only({ reply: null }) },
      { name: 'requestsWaitingInSession', key: { workspace: 1, sessionId: 1, seq: 1 }, ...only({ reply: null }) },
      {
        name: 'requestsAnswered',
        key: { workspace: 1, sessionId: 1, seq: 1 },
        ...only({ reply: { $gt: 0 } }),
      },
    ],
  },
})

/** An approval that an `always` answer saved; its id is a digest of the other fields. */
export const approvals = defineTable({
  name: 'approvals',
  columns: { workspace: text(), id: text(), projectId: text(), action: text(), pattern: text() },
  sqlite: {
    primaryKey: ['workspace', 'projectId', 'action', 'pattern'],
    uniqueIndexes: { approvalsById: '(workspace, id)' },
  },
  mongo: {
    indexes: [
      { name: 'approvalsByProject', key: { workspace: 1, projectId: 1 } },
      { name: 'approvalsById', key: { workspace: 1, id: 1 }, unique: true },
    ],
  },
})

export type RequestRecord = RowOf<typeof requests.columns>
export type ApprovalRecord = RowOf<typeof approvals.columns>

type WriteOf<T extends Write['type']> = Extract<Write, { type: T }>

export function requestRecord(workspace: string, write: WriteOf<'request'>): RequestRecord {
  const { request } = write
  return {
    workspace,
    id: request.requestId,
    sessionId: request.sessionId,
    seq: write.seq,
    data: requests.columns.data.encode(request),
    reply: null,
    message: '',
    timeCreated: request.createTime,
    timeExpires: request.expireTime,
  }
}

export function approvalRecord(workspace: string, write: Omit<WriteOf<'approve'>, 'type'>): ApprovalRecord {
  const { projectId, action, pattern } = write
  const digest = createHash('sha256')
    .update(JSON.stringify([projectId, action, pattern]))
    .digest('hex')
  return { workspace, id: `apr_${digest.slice(0, 32)}`, projectId, action, pattern }
}

export function toApproval({ id: approvalId, projectId, action, pattern }: ApprovalRecord): SavedApproval {
  return create(SavedApprovalSchema, { approvalId, projectId, action, pattern })
}

export function toRule({ action, pattern }: Pick<ApprovalRecord, 'action' | 'pattern'>): PermissionRule {
  return create(PermissionRuleSchema, { action, resource: pattern, effect: PermissionRule_Effect.ALLOW })
}

/**
 * The requests that can be read. One that cannot spoils no list: it fails the run that waits for it, and expires.
 */
export function toRequestEntries(records: readonly RequestRecord[]): RequestEntry[] {
  return records.flatMap((record) => {
    try {
      return toRequestEntry(record)
    } catch {
      return []
    }
  })
}

/** The same without their answers. */
export function toRequests(records: readonly RequestRecord[]): PermissionRequest[] {
  return toRequestEntries(records).map(({ request }) => request)
}

export function toRequestEntry(record: RequestRecord): RequestEntry {
  const { reply, message: reason } = record
  const request = requests.columns.data.decode(record.data)
  return { request, answer: reply === null ? undefined : { reply, message: reason } }
}
