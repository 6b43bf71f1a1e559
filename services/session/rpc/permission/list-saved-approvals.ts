import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Lists the saved approvals. */
export function listSavedApprovals(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['listSavedApprovals'] {
  const { store } = dependencies
  return async ({ projectId }, context) => {
    const { workspaceId } = principalOf(context)
    const approvals = await store.listApprovals(workspaceId, projectId)
    return { approvals: approvals.map(({ id, ...approval }) => ({ approvalId: id, ...approval })) }
  }
}
