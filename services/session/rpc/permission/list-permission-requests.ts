import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { permissionRequestToProto } from './permission-request-to-proto.ts'
import { requestsBelow } from './requests-below.ts'

/** How many requests a list has at most. */
const MOST = 1_000

/**
 * Lists the permission requests that wait for an answer, of one session and those below it, or of the whole workspace.
 */
export function listPermissionRequests(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['listPermissionRequests'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    if (sessionId === undefined) {
      const waiting = await store.listPermissionRequests(workspaceId)
      return { requests: waiting.map(permissionRequestToProto) }
    }
    if ((await store.getSession(workspaceId, sessionId)) === undefined) throw sessionNotFound(sessionId)
    const own = await store.listPermissionRequests(workspaceId, sessionId)
    const requests = [...own]
    let below = 0
    for await (const request of requestsBelow(store, workspaceId, sessionId, context.signal)) {
      requests.push(request)
      if (++below === MOST) break
    }
    requests.sort((a, b) => a.timeCreated - b.timeCreated)
    return { requests: requests.slice(0, MOST).map(permissionRequestToProto) }
  }
}
