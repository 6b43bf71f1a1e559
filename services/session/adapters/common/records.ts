import { createHash } from 'node:crypto'
import type {
  KnownRequest,
  PermissionReply,
  PermissionRequest,
} from '#services/session/domain/permission/permission.ts'
import type { Write } from '#services/session/domain/write.ts'
import { isObject } from '#shared/json.ts'

// Records are what both stores keep: flat, made of text, numbers and null, with the same names in both. Whatever
// clients, models or tools may nest is JSON text, so that no store's own rules for keys, depth or numbers apply to it.

export interface RequestRecord {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  readonly seq: number
  readonly data: string
  /** Null while it waits. */
  readonly reply: PermissionReply | null
  readonly message: string
  readonly timeCreated: number
  readonly timeExpires: number
}

/** An approval that an `always` answer saved. */
export interface ApprovalRecord {
  readonly workspace: string
  /** A digest of the other fields. */
  readonly id: string
  readonly projectId: string
  readonly action: string
  readonly pattern: string
}

type WriteOf<T extends Write['type']> = Extract<Write, { type: T }>

export function requestRecord(workspace: string, write: WriteOf<'request'>): RequestRecord {
  const { request } = write
  return {
    workspace,
    id: request.id,
    sessionId: request.sessionId,
    seq: write.seq,
    data: JSON.stringify(request),
    reply: null,
    message: '',
    timeCreated: request.timeCreated,
    timeExpires: request.timeExpires,
  }
}

export function approvalRecord(workspace: string, write: Omit<WriteOf<'approve'>, 'type'>): ApprovalRecord {
  const { projectId, action, pattern } = write
  const digest = createHash('sha256')
    .update(JSON.stringify([projectId, action, pattern]))
    .digest('hex')
  return { workspace, id: `apr_${digest.slice(0, 32)}`, projectId, action, pattern }
}

function toRequest(record: RequestRecord): PermissionRequest {
  const request: unknown = JSON.parse(record.data)
  if (!isObject(request)) throw new SyntaxError('A permission request must be an object')
  return request as unknown as PermissionRequest
}

/**
 * The requests that can be read. One that cannot spoils no list: it fails the run that waits for it, and expires.
 */
export function toKnownRequests(records: readonly RequestRecord[]): KnownRequest[] {
  return records.flatMap((record) => {
    try {
      return toKnownRequest(record)
    } catch {
      return []
    }
  })
}

/** The same without their answers. */
export function toRequests(records: readonly RequestRecord[]): PermissionRequest[] {
  return toKnownRequests(records).map(({ request }) => request)
}

export function toKnownRequest(record: RequestRecord): KnownRequest {
  const { reply, message } = record
  return { request: toRequest(record), answer: reply === null ? undefined : { reply, message } }
}
