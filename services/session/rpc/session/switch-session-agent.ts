import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { selectAgent } from '#services/session/domain/selection.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { parseAgentName } from '../parse.ts'

/** Selects the agent of the next steps. */
export function switchSessionAgent(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['switchSessionAgent'] {
  const { store } = dependencies
  return async ({ sessionId, agent }, context) => {
    const { workspaceId } = principalOf(context)
    const selected = parseAgentName('agent', agent)
    await store.revise({ workspace: workspaceId, sessionId }, nothing, (revision) => selectAgent(revision, selected))
    return {}
  }
}
