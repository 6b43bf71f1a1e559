import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type InboxItem, MOST_INBOX_ITEMS } from '#services/session/domain/inbox.ts'
import { jsonBytesOf } from '#services/session/domain/message/size.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { readWithContents } from '../blob-contents.ts'
import { blobsOfItem, itemToProto } from './item-to-proto.ts'

/**
 * Maximum size of a list as JSON, with its files, in bytes: a response must stay below the 64 MiB of a message between
 * processes.
 */
const MAX_PAGE_BYTES = 40 * 1_048_576
/** How many items to read at once while they are small; the first ones show how large they are. */
const BATCH = 20
const FIRST_BATCH = 2

/** Lists what waits in the inbox of a session; the list ends early rather than grow too large. */
export function listInboxItems(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
}): ServiceImpl<typeof SessionService>['listInboxItems'] {
  const { store, blobs } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId: workspace } = principalOf(context)
    const read = () => readItems(store, workspace, sessionId)
    const refsOf = (items: readonly InboxItem[]) => items.flatMap(blobsOfItem)
    const { found, contents } = await readWithContents(blobs, { workspace, sessionId }, read, refsOf)
    return { items: found.map((item) => itemToProto(item, contents)) }
  }
}

async function readItems(store: SessionStore, workspace: string, sessionId: string): Promise<InboxItem[]> {
  const items: InboxItem[] = []
  let bytes = 0
  let afterSeq = 0
  let limit = FIRST_BATCH
  for (;;) {
    const batch = await store.inspect(
      { workspace, sessionId },
      (reads) => reads.inbox(afterSeq, limit),
      (_, waiting) => waiting,
    )
    for (const { seq, item } of batch) {
      bytes += jsonBytesOf(item) + blobsOfItem(item).reduce((sum, { size }) => sum + size, 0)
      if (items.length === MOST_INBOX_ITEMS || (items.length > 0 && bytes > MAX_PAGE_BYTES)) return items
      items.push(item)
      afterSeq = seq
    }
    if (batch.length < limit) return items
    const fitting = ((MAX_PAGE_BYTES - bytes) * items.length) / bytes
    limit = Math.min(Math.max(Math.ceil(fitting), 1), BATCH)
  }
}
