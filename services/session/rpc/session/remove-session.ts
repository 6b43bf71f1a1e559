import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import type { Remover } from '#services/session/run/lifetime/remover.ts'
import { principalOf } from '#shared/rpc/call-context.ts'

/**
 * Removes a session and those below it, unless there are very many, and waits for a short time until their tool calls
 * have ended. Their owners are notified, and the remover removes and deletes the rest.
 */
export function removeSession(dependencies: {
  readonly store: SessionStore
  readonly remover: Pick<Remover, 'removeBelow' | 'endTools' | 'wake'>
}): ServiceImpl<typeof SessionService>['removeSession'] {
  const { store, remover } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    const removal = await store.removeSession(workspaceId, sessionId)
    const removals = [removal, ...(await remover.removeBelow(removal))]
    remover.wake()
    await Promise.all(removals.map((removal) => remover.endTools(removal)))
    return {}
  }
}
