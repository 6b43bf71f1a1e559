import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { interruptRun } from '#services/session/domain/run.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/** Requests that what runs in the session stops; its owner observes it. */
export function interruptSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['interruptSession'] {
  const { store } = dependencies
  return async ({ sessionId, resume }, context) => {
    const { workspaceId } = principalOf(context)
    const interrupted = await store.revise(
      { workspace: workspaceId, sessionId },
      (reads) => (resume ? reads.waiting() : undefined),
      interruptRun,
    )
    return { interrupted }
  }
}
