import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { permissionRequestToProto } from './permission-request-to-proto.ts'

/** Lists the permission requests that wait for an answer, of one session or of the whole workspace. */
export function listPermissionRequests(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['listPermissionRequests'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    if (sessionId !== undefined && (await store.getSession(workspaceId, sessionId)) === undefined) {
      throw sessionNotFound(sessionId)
    }
    const requests = await store.listPermissionRequests(workspaceId, sessionId)
    return { requests: requests.map(permissionRequestToProto) }
  }
}
