import type { Collection, Db } from 'mongodb'
import type { MongoDocument } from '#shared/stores/mongo-table.ts'
import type { RowOf } from '#shared/stores/table.ts'
import type { activity } from '../tables/activity.ts'
import type { blobs, blobUses } from '../tables/blobs.ts'
import type { events } from '../tables/events.ts'
import type { inbox } from '../tables/inbox.ts'
import type { messages, parts } from '../tables/messages.ts'
import type { approvals, requests } from '../tables/permissions.ts'
import type { hiddenSessions, sessions } from '../tables/sessions.ts'

export type Keyed<T> = T & { readonly _id: string }

export type SessionDocument = MongoDocument<typeof sessions>
export type HiddenDocument = MongoDocument<typeof hiddenSessions>
export type BlobUse = MongoDocument<typeof blobUses>

/** The collections of the session service. `keyOf` makes their keys, but for parts, approvals and uses of blobs. */
export interface Collections {
  readonly db: Db
  readonly sessions: Collection<SessionDocument>
  readonly inbox: Collection<MongoDocument<typeof inbox>>
  readonly messages: Collection<MongoDocument<typeof messages>>
  readonly parts: Collection<MongoDocument<typeof parts>>
  readonly events: Collection<MongoDocument<typeof events>>
  readonly activity: Collection<MongoDocument<typeof activity>>
  readonly requests: Collection<MongoDocument<typeof requests>>
  readonly approvals: Collection<MongoDocument<typeof approvals>>
  readonly hiddenSessions: Collection<HiddenDocument>
  readonly blobUses: Collection<BlobUse>
  readonly blobs: Collection<MongoDocument<typeof blobs>>
}

export type Table = Exclude<keyof Collections, 'db'>

/** The key of a record. Workspace ids are made by us and contain no slash. */
export function keyOf(workspace: string, id: string): string {
  return `${workspace}/${id}`
}

type PartPlace = Pick<RowOf<typeof parts.columns>, 'workspace' | 'message' | 'attempt' | 'ordinal'>

export function partKey({ workspace, message, attempt, ordinal }: PartPlace): string {
  return `${keyOf(workspace, message)}/${attempt}/${ordinal}`
}

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
