import type { Collection, CreateIndexesOptions, Db, Document } from 'mongodb'
import type { ApprovalRecord, EventRecord, MessageRecord, RequestRecord } from './records.ts'
import type { SessionRecord } from './session-record.ts'

/** A record with its key: workspace and id. */
export type Keyed<T> = T & { readonly _id: string }

/** Grows with every write, so that a transaction never leaves the record of its session as it was. */
export type SessionDocument = Keyed<SessionRecord> & { readonly version: number }

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

/** The collections, with their indexes made where they are missing; several processes may do so at once. */
export async function openCollections(db: Db): Promise<Collections> {
  const collections: Collections = {
    db,
    sessions: db.collection('sessions'),
    messages: db.collection('messages'),
    events: db.collection('events'),
    requests: db.collection('requests'),
    approvals: db.collection('approvals'),
  }
  for (const [name, indexes] of Object.entries(INDEXES)) {
    await db.collection(name).createIndexes(indexes.map(([name, key, options]) => ({ name, key, ...options })))
  }
  return collections
}

type Index = readonly [name: string, key: Record<string, 1>, options?: CreateIndexesOptions]

const only = (partialFilterExpression: Document) => ({ partialFilterExpression })

const INDEXES: Readonly<Record<Table, readonly Index[]>> = {
  sessions: [
    ['sessionsByTime', { workspace: 1, timeUpdated: 1, id: 1 }],
    ['sessionsByParent', { workspace: 1, parentId: 1, timeUpdated: 1, id: 1 }],
    ['sessionsByProject', { workspace: 1, projectId: 1, timeUpdated: 1, id: 1 }],
    ['sessionsByDirectory', { workspace: 1, directory: 1, timeUpdated: 1, id: 1 }],
    ['sessionsClaimable', { claimableAt: 1 }, only({ claimableAt: { $gt: 0 } })],
    ['sessionsLeased', { workspace: 1, leaseUntil: 1 }, only({ leaseUntil: { $gt: 0 } })],
  ],
  messages: [
    ['messagesBySeq', { workspace: 1, sessionId: 1, seq: 1 }, { unique: true, ...only({ seq: { $gt: 0 } }) }],
    ['messagesWaiting', { workspace: 1, sessionId: 1, delivery: 1, admitted: 1 }, only({ seq: null })],
    ['messagesUnfinished', { workspace: 1, sessionId: 1 }, only({ unfinished: 1 })],
  ],
  events: [['eventsBySeq', { workspace: 1, sessionId: 1, seq: 1 }, { unique: true }]],
  requests: [
    ['requestsWaiting', { workspace: 1, timeCreated: 1, seq: 1 }, only({ reply: null })],
    ['requestsWaitingInSession', { workspace: 1, sessionId: 1, seq: 1 }, only({ reply: null })],
  ],
  approvals: [['approvalsByProject', { workspace: 1, projectId: 1 }]],
}

/** The server's clock, in milliseconds since the epoch. */
export const SERVER_NOW = { $toLong: '$$NOW' }
