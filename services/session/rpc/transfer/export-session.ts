import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { isSettled, type StoredMessage } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { readMessages, type SameSession } from '#services/session/run/history/read-messages.ts'
import { ownTurn } from '#shared/own-turn.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkReadable, readContent, toMessage } from '../message-stream.ts'
import { sessionToProto } from '../session-to-proto.ts'

/**
 * Streams a session and its settled messages, each followed by the content of its files. Before anything is sent, every
 * message is read once and encoded, and its files are looked for, so that one that cannot be read rejects the call as a
 * whole.
 */
export function exportSession(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
}): ServiceImpl<typeof SessionService>['exportSession'] {
  const { store } = dependencies
  return async function* ({ sessionId, withoutContent }, context) {
    const { workspaceId: workspace } = principalOf(context)
    const same: SameSession = {}
    let last = 0
    for await (const stored of settled(store, workspace, sessionId, same)) {
      await checkReadable(dependencies, { workspace, sessionId }, stored, withoutContent)
      last = stored.seq
    }
    // The last message may have taken long.
    await ownTurn()
    // Between the two readings: if another session has the id by now, the second reading finds that out.
    const session = await store.getSession(workspace, sessionId)
    if (session === undefined) throw sessionNotFound(sessionId)
    yield { item: { case: 'session', value: sessionToProto(session) } }
    for await (const stored of settled(store, workspace, sessionId, same)) {
      if (stored.seq > last) break
      yield { item: { case: 'message', value: toMessage(stored) } }
      if (withoutContent) continue
      for await (const value of readContent(dependencies, { workspace, sessionId }, stored))
        yield { item: { case: 'content', value } }
    }
  }
}

async function* settled(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  same: SameSession,
): AsyncGenerator<StoredMessage> {
  for await (const stored of readMessages(store, workspace, sessionId, 'ascending', { same })) {
    if (isSettled(stored.message)) yield stored
  }
}
