import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { Message } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { blobsOf, readWithContents } from '../blob-contents.ts'
import { messageToProto } from './message-to-proto.ts'
import { ownTurnFor } from './own-turn-for.ts'

/** Gets one message of a session. */
export function getMessage(dependencies: {
  readonly store: SessionStore
  readonly blobs: BlobStore
}): ServiceImpl<typeof SessionService>['getMessage'] {
  const { store, blobs } = dependencies
  return async ({ sessionId, messageId }, context) => {
    const { workspaceId } = principalOf(context)
    const read = async (): Promise<Message> => {
      const found = await store.getMessage(workspaceId, sessionId, messageId)
      if (found !== undefined) return found.message
      if ((await store.getSession(workspaceId, sessionId)) === undefined) throw sessionNotFound(sessionId)
      throw new Rejection('MESSAGE_NOT_FOUND', { session_id: sessionId, message_id: messageId })
    }
    const { found, contents } = await readWithContents(blobs, { workspace: workspaceId, sessionId }, read, blobsOf)
    await ownTurnFor(found)
    return { message: messageToProto(found, contents) }
  }
}
