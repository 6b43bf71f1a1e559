import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { viewSession as recordView } from '#services/session/domain/description.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'

/** Records that somebody has seen how a run ended. */
export function viewSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['viewSession'] {
  const { store } = dependencies
  return async ({ sessionId, idleTime }, context) => {
    const { workspaceId: workspace } = principalOf(context)
    check(idleTime !== undefined, 'idle_time', 'is missing')
    await store.revise({ workspace, sessionId }, nothing, (revision) => recordView(revision, timestampMs(idleTime)))
    return {}
  }
}
