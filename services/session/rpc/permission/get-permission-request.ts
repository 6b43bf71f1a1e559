import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { waitingRequest } from '#services/session/domain/permission/permission-answers.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { permissionRequestToProto } from './permission-request-to-proto.ts'
import { sessionBelow, unlessRemoved } from './requests-below.ts'

/** Gets a permission request that waits for an answer, in the session or below it. */
export function getPermissionRequest(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['getPermissionRequest'] {
  const { store } = dependencies
  return async ({ sessionId, requestId }, context) => {
    const { workspaceId } = principalOf(context)
    const requestIn = (id: string) =>
      store.inspect(
        { workspace: workspaceId, sessionId: id },
        (reads) => reads.request(requestId),
        ({ now }, known) => waitingRequest(known, now),
      )
    const own = await requestIn(sessionId)
    const below = own === undefined ? await sessionBelow(store, workspaceId, sessionId, requestId) : undefined
    const request = below === undefined ? own : await unlessRemoved(requestIn(below))
    if (request === undefined) throw new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
    return { request: permissionRequestToProto(request) }
  }
}
