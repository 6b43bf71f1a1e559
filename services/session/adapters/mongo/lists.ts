import type { StoredMessage } from '#services/session/domain/message.ts'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import type { MessageQuery, Page } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MessageRecord } from '../common/message-record.ts'
import { toRequest } from '../common/records.ts'
import { readsForward, toPage } from '../common/session-lists.ts'
import type { Collections } from './collections.ts'
import { readStored } from './message-documents.ts'

export async function listMessages(
  collections: Collections,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
  base: number,
): Promise<Page<StoredMessage>> {
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? base : Number.MAX_SAFE_INTEGER)
  const cursor = collections.messages.find(
    {
      ...{ workspace, sessionId, seq: forward ? { $gt: Math.max(from, base) } : { $gt: base, $lt: from } },
      ...(query.type === undefined ? {} : { type: query.type as MessageRecord['type'] }),
    },
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
