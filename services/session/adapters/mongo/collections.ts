import type { Collection, Db } from 'mongodb'
import type { ApprovalRecord, EventRecord, MessageRecord, RequestRecord } from '../common/records.ts'
import type { SessionRecord } from '../common/session-record.ts'

/** A record with its key: workspace and id. */
export type Keyed<T> = T & { readonly _id: string }

export type SessionDocument = Keyed<SessionRecord> & {
  /** Grows with every write, so that a transaction never leaves the record of its session as it was. */
  readonly version: number
  /** The last change that somebody may wait for; see `MongoNotices`. */
  readonly notice?: string
}

/** The collections of the session service. `messages` also holds the inbox: inputs without a place (`seq`) yet. */
export interface Collections {
  readonly db: Db
  readonly sessions: Collection<SessionDocument>
  readonly messages: Collection<Keyed<MessageRecord>>
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

/** The collections; their form is made by the steps of `schema.ts`. */
export function collectionsOf(db: Db): Collections {
  return {
    db,
    sessions: db.collection('sessions'),
    messages: db.collection('messages'),
    events: db.collection('events'),
    requests: db.collection('requests'),
    approvals: db.collection('approvals'),
  }
}

/** The server's clock, in milliseconds since the epoch. */
export const SERVER_NOW = { $toLong: '$$NOW' }
