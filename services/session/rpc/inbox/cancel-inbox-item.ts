import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { cancelItem } from '#services/session/domain/inbox/inbox-changes.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Cancels an item that waits. */
export function cancelInboxItem(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['cancelInboxItem'] {
  const { store } = dependencies
  return async ({ sessionId, messageId }, context) => {
    const { workspaceId } = principalOf(context)
    await store.revise(
      { workspace: workspaceId, sessionId },
      (reads) => reads.item(messageId),
      (revision, known) => cancelItem(revision, known),
    )
    return {}
  }
}
