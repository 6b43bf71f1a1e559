import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type ForkDependencies, forkSession as fork } from '#services/session/run/lifetime/fork-session.ts'
import { parseMessageId, parseSessionId } from '../parse.ts'
import { peerCallOf } from '../peer-call.ts'
import { sessionToProto } from './session-to-proto.ts'

/** Creates a session from the history of another one. If the caller leaves, nothing of it remains. */
export function forkSession(dependencies: ForkDependencies): ServiceImpl<typeof SessionService>['forkSession'] {
  return async ({ sessionId, forkId, beforeMessageId }, context) => {
    const call = peerCallOf(context)
    const { workspaceId: workspace } = call.principal
    const id = parseSessionId(forkId)
    const before = beforeMessageId === undefined ? undefined : parseMessageId(beforeMessageId)
    const session = await fork(dependencies, { workspace, sessionId, id, before }, call)
    return { session: sessionToProto(session) }
  }
}
