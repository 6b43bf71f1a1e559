import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { selectModel } from '#services/session/domain/selection.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { parseModel } from '../parse.ts'

/** Selects the model of the next steps. */
export function switchSessionModel(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['switchSessionModel'] {
  const { store } = dependencies
  return async ({ sessionId, model }, context) => {
    const { workspaceId } = principalOf(context)
    check(model !== undefined, 'model', 'must be set')
    const selected = parseModel(model)
    await store.revise({ workspace: workspaceId, sessionId }, nothing, (revision) => selectModel(revision, selected))
    return {}
  }
}
