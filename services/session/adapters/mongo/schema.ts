import type { CreateIndexesOptions, Document } from 'mongodb'
import { FIRST_INPUT } from '#services/session/domain/session-state.ts'
import type { MongoSchema, MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { type ApprovalRecord, approvalRecord } from '../common/records.ts'

type Index = readonly [name: string, key: Record<string, 1>, options?: CreateIndexesOptions]

const only = (partialFilterExpression: Document) => ({ partialFilterExpression })

const FIRST: Readonly<Record<string, readonly Index[]>> = {
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

/** The schema steps of what the session service has in MongoDB, blobs included. */
export const SCHEMA: MongoSchema = {
  name: 'session',
  collection: 'sessions',
  steps: [
    { version: 1, name: 'the first schema', up: first },
    { version: 2, name: 'inbox items and the parts of messages have documents of their own', up: second },
    { version: 3, name: 'events expire', up: indexEvents },
    { version: 4, name: 'lists have an index for each filter, and titles have one for searches', up: fourth },
    { version: 5, name: 'sessions can be removed, and written before they are seen', up: hideSessions },
    // Documents get the new field when they are written.
    { version: 6, name: 'sessions record how they were woken', up: async () => {} },
    { version: 7, name: 'statistics have documents of their own', up: seventh },
    { version: 8, name: 'sessions are viewed and get titles, and approvals have ids', up: addTitles },
    { version: 9, name: 'blobs are counted by their uses', up: useBlobs },
    // Older documents do not have the new fields.
    { version: 10, name: 'sessions can be archived', up: async () => {} },
    { version: 11, name: 'sessions below a removed one are removed after it', up: async () => {} },
    { version: 12, name: 'searches handle more of letter case', up: twelfth },
    { version: 13, name: 'searches return results in the order of lists', up: thirteenth },
    { version: 14, name: 'titles are indexed in blocks', up: fourteenth },
  ],
}

async function first({ db }: MongoStepStore): Promise<void> {
  for (const [name, indexes] of Object.entries(FIRST)) {
    await db.collection(name).createIndexes(indexes.map(([name, key, options]) => ({ name, key, ...options })))
  }
}

// The single process reads this list as well, but does not load the driver.
async function second(store: MongoStepStore): Promise<void> {
  const { splitMessages } = await import('./steps/split-messages.ts')
  await splitMessages(store)
}

async function fourth(store: MongoStepStore): Promise<void> {
  const { indexLists } = await import('./steps/index-lists.ts')
  await indexLists(store)
}

async function seventh(store: MongoStepStore): Promise<void> {
  const { countMessages } = await import('./steps/count-messages.ts')
  await countMessages(store)
}

async function twelfth(store: MongoStepStore): Promise<void> {
  const { foldTitles } = await import('./steps/fold-titles.ts')
  await foldTitles(store)
}

async function thirteenth(store: MongoStepStore): Promise<void> {
  const { orderSearches } = await import('./steps/order-searches.ts')
  await orderSearches(store)
}

async function fourteenth(store: MongoStepStore): Promise<void> {
  const { placeTitles } = await import('./steps/place-titles.ts')
  await placeTitles(store)
}

async function indexEvents({ db }: MongoStepStore): Promise<void> {
  await db.collection('events').createIndex({ timeCreated: 1 }, { name: 'eventsByTime' })
}

async function hideSessions({ db }: MongoStepStore): Promise<void> {
  await db.collection('hiddenSessions').createIndexes([
    { name: 'hiddenSessionsById', key: { workspace: 1, sessionId: 1 } },
    { name: 'hiddenSessionsByTime', key: { until: 1 } },
  ])
  const ofSession = { workspace: 1, sessionId: 1, seq: 1 }
  await db.collection('inbox').createIndex(ofSession, { name: 'inboxCancelled', ...only({ state: 'cancelled' }) })
  await db
    .collection('requests')
    .createIndex(ofSession, { name: 'requestsAnswered', ...only({ reply: { $type: 'string' } }) })
}

async function addTitles({ db }: MongoStepStore): Promise<void> {
  await db
    .collection('sessions')
    .updateMany({ title: null, lastAdmitter: null, titling: { $exists: false } }, { $set: { titling: FIRST_INPUT } })
  const approvals = db.collection<Document & Omit<ApprovalRecord, 'id'>>('approvals')
  for await (const approval of approvals.find({ id: { $exists: false } })) {
    const { id } = approvalRecord(approval.workspace, approval)
    await approvals.updateOne({ _id: approval._id }, { $set: { id } })
  }
  await approvals.createIndex({ workspace: 1, id: 1 }, { name: 'approvalsById', unique: true })
}

async function useBlobs(store: MongoStepStore): Promise<void> {
  const { countBlobs } = await import('./steps/count-blobs.ts')
  await countBlobs(store)
}
