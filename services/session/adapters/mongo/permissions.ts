import type { PermissionRule } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { PermissionRequest, SavedApproval } from '#gen/portico/session/v1/session_pb.js'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { MOST_APPROVALS } from '../common/session-lists.ts'
import { toApproval, toRequests, toRule } from '../tables/permissions.ts'
import { type Collections, keyOf } from './collections.ts'

/** See SessionLists. */
export async function sessionOfRequest(
  { requests }: Collections,
  workspace: string,
  id: string,
  now: number,
): Promise<string | undefined> {
  const waiting = { _id: keyOf(workspace, id), reply: null, timeExpires: { $gt: now } }
  return (await requests.findOne(waiting, { projection: { sessionId: 1 }, maxTimeMS: MAX_TIME_MS }))?.sessionId
}

export async function listPermissionRequests(
  { requests }: Collections,
  workspace: string,
  sessionId: string | undefined,
  now: number,
): Promise<PermissionRequest[]> {
  const cursor = requests.find(
    { workspace, reply: null, timeExpires: { $gt: now }, ...(sessionId === undefined ? {} : { sessionId }) },
    { sort: sessionId === undefined ? { timeCreated: 1, seq: 1 } : { seq: 1 }, limit: 1_000, maxTimeMS: MAX_TIME_MS },
  )
  return toRequests(await cursor.toArray())
}

/** How many of the waiting requests are read at once. */
const BATCH = 256

/** See SessionLists.waitingRequests. */
export async function* waitingRequests(
  { requests }: Collections,
  workspace: string,
  now: number,
): AsyncGenerator<readonly PermissionRequest[]> {
  const waiting = { workspace, reply: null, timeExpires: { $gt: now } }
  const options = { sort: { timeCreated: 1, seq: 1 }, batchSize: BATCH, maxTimeMS: MAX_TIME_MS } as const
  await using cursor = requests.find(waiting, options)
  while (await cursor.hasNext()) yield toRequests(cursor.readBufferedDocuments())
}

/** Approvals saved for a project, as rules. */
export async function savedApprovals(
  { approvals }: Collections,
  workspace: string,
  projectId: string,
): Promise<PermissionRule[]> {
  const cursor = approvals.find({ workspace, projectId }, { maxTimeMS: MAX_TIME_MS })
  return (await cursor.toArray()).map(toRule)
}

export async function listApprovals(
  { approvals }: Collections,
  workspace: string,
  projectId: string | undefined,
): Promise<SavedApproval[]> {
  const filter = { workspace, ...(projectId === undefined ? {} : { projectId }) }
  const sort = { projectId: 1, action: 1, pattern: 1 } as const
  const cursor = approvals.find(filter, { sort, limit: MOST_APPROVALS, maxTimeMS: MAX_TIME_MS })
  return (await cursor.toArray()).map(toApproval)
}

export async function deleteApproval({ approvals }: Collections, workspace: string, approvalId: string): Promise<void> {
  await approvals.deleteOne({ workspace, id: approvalId }, { maxTimeMS: MAX_TIME_MS })
}
