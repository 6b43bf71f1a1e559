import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { resumeRun } from '../domain/inbox/wake.ts'
import { interruptRun } from '../domain/run.ts'
import { isBusy } from '../domain/session-state.ts'
import { nothing } from '../ports/session-store.ts'
import type { SessionDependencies } from './dependencies.ts'

export function runHandlers(dependencies: SessionDependencies) {
  const { store, watchers, health } = dependencies
  const idleness = watchers.share('run', async (session) => {
    const isIdle = await store.inspect(session, nothing, ({ state, leaseNow }) => !isBusy(state, leaseNow))
    const storeState = health.state()
    if (!isIdle && !storeState.ok && storeState.kind === 'damaged') throw storeUnavailable('damaged', { damaged: true })
    return isIdle
  })
  return {
    /** Lists the sessions of the caller's workspace in which a run is in progress. */
    async listActiveSessions(_, context) {
      const { workspaceId } = principalOf(context)
      return { sessionIds: [...(await store.listActive(workspaceId))] }
    },
    /**
     * Returns when nothing runs in the session and nothing is due to. A server that stops rejects it (SERVICE_CLOSING),
     * and so does a damaged store (STORE_UNAVAILABLE), in which a run can never end.
     */
    async waitSession({ sessionId }, context) {
      const { workspaceId: workspace } = principalOf(context)
      const signal = AbortSignal.any([context.signal, drainSignalOf(context)])
      await idleness.until({ workspace, sessionId }, signal, (isIdle) => (isIdle ? 'idle' : undefined))
      return {}
    },
    /** Requests that what runs in the session stops; its owner observes it. */
    async interruptSession({ sessionId, resume }, context) {
      const { workspaceId } = principalOf(context)
      const interrupted = await store.revise(
        { workspace: workspaceId, sessionId },
        (reads) => (resume ? reads.waiting() : undefined),
        interruptRun,
      )
      return { interrupted }
    },
    /** Has the session run without a new input. */
    async resumeSession({ sessionId }, context) {
      const admitter = principalOf(context)
      const key = { workspace: admitter.workspaceId, sessionId }
      await store.revise(key, nothing, (revision) => resumeRun(revision, admitter))
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
}
