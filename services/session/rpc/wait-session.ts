import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import type { SessionStore } from '../ports.ts'
import type { SessionWatchers } from '../run/session-watchers.ts'
import { sessionNotFound } from './get-session.ts'

/** Answers when nothing runs in the session and nothing is due to; looks again at each change of it. A server that stops rejects it (SERVICE_CLOSING). */
export function waitSession(dependencies: {
  readonly store: SessionStore
  readonly watchers: SessionWatchers
}): ServiceImpl<typeof SessionService>['waitSession'] {
  const { store, watchers } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId: workspace } = principalOf(context)
    const signal = AbortSignal.any([context.signal, drainSignalOf(context)])
    await watchers.until({ workspace, sessionId }, signal, async () => {
      const busy = await store.isBusy(workspace, sessionId)
      if (busy === undefined) throw sessionNotFound(sessionId)
      return busy ? undefined : 'idle'
    })
    return {}
  }
}
