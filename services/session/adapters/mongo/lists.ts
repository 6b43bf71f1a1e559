import type { Document, Filter } from 'mongodb'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { PermissionRequest, PermissionRule } from '#services/session/domain/permission/permission.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { MessageQuery, Page, SessionQuery } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { toRequest } from '../common/records.ts'
import { readsForward, toPage } from '../common/session-lists.ts'
import { toSession } from '../common/session-record.ts'
import type { Collections, SessionDocument } from './collections.ts'
import { readStored } from './message-documents.ts'

export async function listSessions(
  { sessions }: Collections,
  workspace: string,
  query: SessionQuery,
): Promise<Page<Session>> {
  const forward = readsForward(query)
  const filter: Document = { workspace }
  if (query.directory !== undefined) filter.directory = query.directory
  if (query.projectId !== undefined) filter.projectId = query.projectId
  if (query.subpath !== undefined) filter.subpath = query.subpath
  if (query.parentId !== undefined) filter.parentId = query.parentId
  if (query.search !== undefined) {
    // Not a regular expression: these have rules of their own for some characters.
    const place = { $indexOfCP: ['$titleSearch', { $literal: query.search.toLowerCase() }] }
    filter.$expr = { $gte: [place, 0] }
  }
  if (query.anchor !== undefined) {
    const { timeUpdated, id } = query.anchor
    filter.timeUpdated = forward ? { $gte: timeUpdated } : { $lte: timeUpdated }
    filter.$or = forward
      ? [{ timeUpdated: { $gt: timeUpdated } }, { id: { $gt: id } }]
      : [{ timeUpdated: { $lt: timeUpdated } }, { id: { $lt: id } }]
  }
  const direction = forward ? 1 : -1
  const cursor = sessions.find(filter as Filter<SessionDocument>, {
    sort: { timeUpdated: direction, id: direction },
    limit: query.limit + 1,
    hint: sessionListIndex(query),
    maxTimeMS: MAX_TIME_MS,
  })
  return toPage(await cursor.toArray(), query, toSession)
}

/** The narrowest index that the filters of a list allow; without this the server may choose to sort. */
function sessionListIndex(query: SessionQuery): string {
  if (query.directory !== undefined) return 'sessionsByDirectory'
  if (query.parentId !== undefined && query.parentId !== null) return 'sessionsByParent'
  if (query.projectId !== undefined) return 'sessionsByProject'
  return query.parentId === null ? 'sessionsByParent' : 'sessionsByTime'
}

export async function listMessages(
  collections: Collections,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
): Promise<Page<StoredMessage>> {
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? 0 : Number.MAX_SAFE_INTEGER)
  const cursor = collections.messages.find(
    { workspace, sessionId, seq: forward ? { $gt: from } : { $gt: 0, $lt: from } },
    { sort: { seq: forward ? 1 : -1 }, limit: query.limit + 1, maxTimeMS: MAX_TIME_MS },
  )
  const { items, more } = toPage(await cursor.toArray(), query, (record) => record)
  return { items: await readStored(collections, items, { maxTimeMS: MAX_TIME_MS }), more }
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
  return (await cursor.toArray()).map(toRequest)
}

/** Approvals saved for a project, as rules. */
export async function savedApprovals(
  { approvals }: Collections,
  workspace: string,
  projectId: string,
): Promise<PermissionRule[]> {
  const cursor = approvals.find({ workspace, projectId }, { maxTimeMS: MAX_TIME_MS })
  return (await cursor.toArray()).map(({ action, pattern }) => ({ action, resource: pattern, effect: 'allow' }))
}
