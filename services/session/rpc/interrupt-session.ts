import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { SessionStore } from '../ports.ts'
import { sessionNotFound } from './get-session.ts'

/** Records the wish that what runs in the session stops; its owner observes it. */
export function interruptSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['interruptSession'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    const interrupted = await store.requestInterrupt(workspaceId, sessionId)
    if (interrupted === undefined) throw sessionNotFound(sessionId)
    return { interrupted }
  }
}
