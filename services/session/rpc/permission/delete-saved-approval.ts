import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Deletes an approval: from the next tool call on, only the rules judge what it allowed. */
export function deleteSavedApproval(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['deleteSavedApproval'] {
  const { store } = dependencies
  return async ({ approvalId }, context) => {
    const { workspaceId } = principalOf(context)
    await store.deleteApproval(workspaceId, approvalId)
    return {}
  }
}
