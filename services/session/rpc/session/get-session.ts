import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { sessionToProto } from './session-to-proto.ts'

/** Gets a session of the caller's workspace. */
export function getSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['getSession'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    const session = await store.getSession(workspaceId, sessionId)
    if (session === undefined) throw sessionNotFound(sessionId)
    return { session: sessionToProto(session) }
  }
}
