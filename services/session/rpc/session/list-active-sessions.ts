import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Lists the sessions of the caller's workspace in which a run is in progress. */
export function listActiveSessions(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['listActiveSessions'] {
  const { store } = dependencies
  return async (_, context) => {
    const { workspaceId } = principalOf(context)
    return { sessionIds: [...(await store.listActive(workspaceId))] }
  }
}
