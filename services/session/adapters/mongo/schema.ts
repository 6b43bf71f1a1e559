import type { Document, IndexDescription } from 'mongodb'
import type { MongoSchema } from '#shared/stores/mongo-schema.ts'
import { digestOf } from '#shared/stores/schema-step.ts'

const only = (partialFilterExpression: Document) => ({ partialFilterExpression })

const INDEXES: Readonly<Record<string, readonly IndexDescription[]>> = {
  sessions: [
    { name: 'sessionsByTime', key: { workspace: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsByParent', key: { workspace: 1, parentId: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsByProject', key: { workspace: 1, projectId: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsBySubpath', key: { workspace: 1, projectId: 1, subpath: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsByDirectory', key: { workspace: 1, directory: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsClaimable', key: { claimableAt: 1 }, ...only({ claimableAt: { $gt: 0 } }) },
    { name: 'sessionsLeased', key: { workspace: 1, leaseUntil: 1 }, ...only({ leaseUntil: { $gt: 0 } }) },
  ],
  hiddenSessions: [
    { name: 'hiddenSessionsById', key: { workspace: 1, sessionId: 1 } },
    { name: 'hiddenSessionsByTime', key: { until: 1 } },
  ],
  inbox: [
    { name: 'inboxWaiting', key: { workspace: 1, sessionId: 1, delivery: 1, seq: 1 }, ...only({ state: 'waiting' }) },
    { name: 'inboxCancelled', key: { workspace: 1, sessionId: 1, seq: 1 }, ...only({ state: 'cancelled' }) },
  ],
  messages: [
    { name: 'messagesBySeq', key: { workspace: 1, sessionId: 1, seq: 1 }, unique: true },
    { name: 'messagesUnfinished', key: { workspace: 1, sessionId: 1 }, ...only({ unfinished: 1 }) },
  ],
  parts: [{ name: 'partsByMessage', key: { workspace: 1, message: 1, attempt: 1, ordinal: 1 }, unique: true }],
  events: [
    { name: 'eventsBySeq', key: { workspace: 1, sessionId: 1, seq: 1 }, unique: true },
    { name: 'eventsByTime', key: { timeCreated: 1 } },
  ],
  activity: [
    { name: 'activityByTime', key: { workspace: 1, timeCreated: 1, id: 1 } },
    { name: 'activityBySession', key: { workspace: 1, sessionId: 1 } },
  ],
  requests: [
    { name: 'requestsWaiting', key: { workspace: 1, timeCreated: 1, seq: 1 }, ...only({ reply: null }) },
    { name: 'requestsWaitingInSession', key: { workspace: 1, sessionId: 1, seq: 1 }, ...only({ reply: null }) },
    {
      name: 'requestsAnswered',
      key: { workspace: 1, sessionId: 1, seq: 1 },
      ...only({ reply: { $type: 'string' } }),
    },
  ],
  approvals: [
    { name: 'approvalsByProject', key: { workspace: 1, projectId: 1 } },
    { name: 'approvalsById', key: { workspace: 1, id: 1 }, unique: true },
  ],
  blobUses: [
    { name: 'blobUsesByMessage', key: { workspace: 1, message: 1 } },
    { name: 'blobUsesByBlob', key: { blob: 1 } },
  ],
  blobs: [{ name: 'blobsToCheck', key: { checkAt: 1 }, sparse: true }],
}

/** The schema of what the session service has in MongoDB, blobs included. */
export const SCHEMA: MongoSchema = { name: 'session', indexes: INDEXES, digest: digestOf(INDEXES), steps: [] }
