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
  /** What a search finds the title by; see `gramsOf`. */
  readonly grams?: readonly string[]
  /** The hour of the last activity, in which a search finds it. */
  readonly hour?: number
  /** Grows with every write, so that a transaction never leaves the record of its session as it was. */
  readonly version: number
  /** Its documents have numbers above this; absent: 0. See `HiddenDocument`. */
  readonly base?: number
  /** The last change that somebody may wait for; see `MongoNotices`. */
  readonly notice?: string
}

/** A session that has documents and that nobody sees: it is not complete yet, or it is being removed. */
export interface HiddenDocument {
  readonly _id: string
  readonly workspace: string
  readonly sessionId: string
  readonly kind: StagedKind | 'removal'
  /** Its documents have numbers above this, which another session of the same id does not have. */
  readonly base: number
  /** The last of its numbers. */
  readonly seq: number
  /** JSON; of a removal. */
  readonly tools: string | null
  /** Of a removal below which sessions may still be there: the ids of those above it, nearest first. */
  readonly above?: readonly string[]
  /** When a staged session becomes a removal, and a removal may be taken up; by the server's clock. */
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

/** The key of a record; the workspace's id is ours and holds no slash. */
export function keyOf(workspace: string, id: string): string {
  return `${workspace}/${id}`
}

/** The key of a part. */
export function partKey({ workspace, message, attempt, ordinal }: Omit<PartRecord, 'data'>): string {
  return `${keyOf(workspace, message)}/${attempt}/${ordinal}`
}

/** The collections; their form is made by the steps of `schema.ts`. */
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
