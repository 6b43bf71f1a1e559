import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { isSummary } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { readMessages, type SameSession } from '#services/session/run/history/read-messages.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkReadable, readContent, toMessage } from './message-stream.ts'

interface Stores {
  readonly store: SessionStore
  readonly blobs: BlobStore
}

/**
 * Streams the messages that the next step of a session is made from; see `exportSession` for what is read before the
 * first one.
 */
export function streamSessionContext(dependencies: Stores): ServiceImpl<typeof SessionService>['streamSessionContext'] {
  const { store } = dependencies
  return async function* ({ sessionId }, context) {
    const { workspaceId: workspace } = principalOf(context)
    const same: SameSession = {}
    const { before, last } = await findContext(dependencies, { workspace, sessionId }, same)
    for await (const stored of readMessages(store, workspace, sessionId, 'ascending', { beyond: before, same })) {
      if (stored.seq > last) break
      yield { item: { case: 'message', value: toMessage(stored) } }
      for await (const value of readContent(dependencies, { workspace, sessionId }, stored))
        yield { item: { case: 'content', value } }
    }
  }
}

/** The place before the first message of the context, and that of the last one. */
async function findContext(stores: Stores, key: SessionKey, same: SameSession) {
  let last = 0
  for await (const stored of readMessages(stores.store, key.workspace, key.sessionId, 'descending', { same })) {
    last ||= stored.seq
    await checkReadable(stores, key, stored)
    if (isSummary(stored.message)) return { before: stored.seq - 1, last }
  }
  return { before: 0, last }
}
