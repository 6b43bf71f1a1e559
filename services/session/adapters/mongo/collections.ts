import type { Collection, Db } from 'mongodb'
import type { NewId } from '#services/session/domain/revision.ts'
import type { Clock } from '#shared/clock.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import type { ActivityRecord } from '../common/activity-record.ts'
import type { EventRecord } from '../common/event-record.ts'
import type { InboxRecord } from '../common/inbox-record.ts'
import type { MessageRecord, PartRecord } from '../common/message-record.ts'
import type { ApprovalRecord, RequestRecord } from '../common/records.ts'
import type { SessionRecord } from '../common/session-record.ts'
import type { BlobUse } from './blobs/blob-uses.ts'
import type { HiddenDocument } from './hidden/hidden-sessions.ts'
import type { MongoNotices } from './notices.ts'
import type { MongoQueue } from './queue.ts'

/** A record with its key: workspace and id. */
export type Keyed<T> = T & { readonly _id: string }

export type SessionDocument = Keyed<SessionRecord> & {
  /** What a search finds the title by; see `gramsOf`. */
  readonly grams?: readonly string[]
  /** Grows with every write, so that a transaction never leaves the record of its session as it was. */
  readonly version: number
  /** Its documents have numbers above this; absent: 0. See `HiddenDocument`. */
  readonly base?: number
  /** The last change that somebody may wait for; see `MongoNotices`. */
  readonly notice?: string
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

/** What the objects that keep parts of the port have in common. */
export interface StoreParts {
  readonly mongo: Mongo
  readonly collections: Collections
  readonly queue: MongoQueue
  readonly notices: MongoNotices
  readonly clock: Clock
  readonly newId: NewId
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
