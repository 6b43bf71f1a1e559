import type { Collection, Db } from 'mongodb'
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
  /** Grows with every write, so that a transaction never leaves the record of its session as it was. */
  readonly version: number
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
  readonly requests: Collection<Keyed<RequestRecord>>
  readonly approvals: Collection<Keyed<ApprovalRecord>>
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
    requests: db.collection('requests'),
    approvals: db.collection('approvals'),
  }
}

/** The server's clock, in milliseconds since the epoch. */
export const SERVER_NOW = { $toLong: '$$NOW' }
