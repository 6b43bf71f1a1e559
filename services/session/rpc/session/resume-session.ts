import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { resumeRun } from '#services/session/domain/inbox/wake.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Has the session run without a new input. */
export function resumeSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['resumeSession'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const admitter = principalOf(context)
    const key = { workspace: admitter.workspaceId, sessionId }
    await store.revise(key, nothing, (revision) => resumeRun(revision, admitter))
    return {}
  }
}
