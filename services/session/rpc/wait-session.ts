import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { principalOf } from '#shared/call-context.ts'
import type { SessionStore } from '../ports.ts'
import { sessionNotFound } from './get-session.ts'

/** Answers when nothing runs in the session and nothing is due to; looks again at each change of it. */
export function waitSession(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['waitSession'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    let look = (): void => {}
    using _ = store.onChange((change) => {
      if (change.sessionId === undefined || change.sessionId === sessionId) look()
    })
    context.signal.addEventListener('abort', () => look(), { once: true })
    for (;;) {
      // Asked for before the look, so that a change in between is not missed.
      const changed = new Promise<void>((resolve) => {
        look = resolve
      })
      const busy = await store.isBusy(workspaceId, sessionId)
      if (busy === undefined) throw sessionNotFound(sessionId)
      if (!busy) return {}
      context.signal.throwIfAborted()
      await changed
      context.signal.throwIfAborted()
    }
  }
}
