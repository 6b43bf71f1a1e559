import type { Collection, Db } from 'mongodb'
import type { StagedKind } from '#services/session/ports/session-staging.ts'
import type { ActivityRecord } from '../common/activity-record.ts'
import type { EventRecord } from '../common/event-record.ts'
import type { InboxRecord } from '../common/inbox-record.ts'
import type { MessageRecord, PartRecord } from '../common/message-record.ts'
import type { ApprovalRecord, RequestRecord } from '../common/records.ts'
import type { SessionRecord } from '../common/session-record.ts'

/** A record with its key: workspace and id. */
export type Keyed<T> = T & { readonly _id: string }

export type SessionDocument = Keyed<SessionRecord> & {
  /** Incremented by every write, so that each transaction changes the record of its session. */
  readonly version: number
  /** The numbers of its documents are above this; absent: 0. See `HiddenDocument`. */
  readonly base?: number
  /** The last change that somebody may wait for; see `MongoNotices`. */
  readonly notice?: string
}

/** A session that has documents but is not visible: it is incomplete, or is being removed. */
export interface HiddenDocument {
  readonly _id: string
  readonly workspace: string
  readonly sessionId: string
  readonly kind: StagedKind | 'removal'
  /** The numbers of its documents are above this, and differ from those of other sessions with the same id. */
  readonly base: number
  /** The last of its numbers. */
  readonly seq: number
  /** JSON; of a removal. */
  readonly tools: string | null
  /** Of a removal below which sessions may still be there: the ids of the session's ancestors, nearest first. */
  readonly above?: readonly string[]
  /** When a staged session becomes a removal, and a removal may be acquired; by the server's clock. */
  readonly until: number
}

/** A record of a message, of one of its parts or of an inbox item refers to a blob. */
export interface BlobUse {
  /** Workspace, message and hash. */
  readonly _id: string
  readonly workspace: string
  readonly message: string
  /** Key of the blob. */
  readonly blob: string
}

/** The collections of the session service. */
export interface Collections {
  readonly db: Db
  readonly sessions: Collection<SessionDocument>
  readonly inbox: Collection<Keyed<InboxRecord>>
  readonly messages: Collection<Keyed<MessageRecord>>
  readonly parts: Collection<Keyed<PartRecord>>
  readonly events: Collection<Keyed<EventRecord>>
  readonly activity: Collection<Keyed<ActivityRecord>>
  readonly requests: Collection<Keyed<RequestRecord>>
  readonly approvals: Collection<Keyed<ApprovalRecord>>
  readonly hiddenSessions: Collection<HiddenDocument>
  readonly blobUses: Collection<BlobUse>
  readonly blobs: Collection<Keyed<{ readonly checkAt?: number }>>
}

/** The name of a collection. */
export type Table = Exclude<keyof Collections, 'db'>

/** The key of a record. Workspace ids are made by us and contain no slash. */
export function keyOf(workspace: string, id: string): string {
  return `${workspace}/${id}`
}

/** The key of a part. */
export function partKey({ workspace, message, attempt, ordinal }: Omit<PartRecord, 'data'>): string {
  return `${keyOf(workspace, message)}/${attempt}/${ordinal}`
}

/** The collections, whose schema is made by the steps in `schema.ts`. */
export function collectionsOf(db: Db): Collections {
  return {
    db,
    sessions: db.collection('sessions'),
    inbox: db.collection('inbox'),
    messages: db.collection('messages'),
    parts: db.collection('parts'),
    events: db.collection('events'),
    activity: db.collection('activity'),
    requests: db.collection('requests'),
    approvals: db.collection('approvals'),
    hiddenSessions: db.collection('hiddenSessions'),
    blobUses: db.collection('blobUses'),
    blobs: db.collection('blobs'),
  }
}

/** The server's clock, in milliseconds since the epoch. */
export const SERVER_NOW = { $toLong: '$$NOW' }
