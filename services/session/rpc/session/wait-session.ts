import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { isBusy } from '#services/session/domain/session-state.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import type { SessionWatchers } from '#services/session/run/session-watchers.ts'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import type { StoreHealth } from '#shared/stores/store-health.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'

/**
 * Returns when nothing runs in the session and nothing is due to. A server that stops rejects it (SERVICE_CLOSING), and
 * so does a damaged store (STORE_UNAVAILABLE), in which a run can never end.
 */
export function waitSession(dependencies: {
  readonly store: SessionStore
  readonly watchers: SessionWatchers
  readonly health: StoreHealth
}): ServiceImpl<typeof SessionService>['waitSession'] {
  const { store, watchers, health } = dependencies
  const idleness = watchers.share('run', async (session) => {
    const isIdle = await store.inspect(session, nothing, ({ state, leaseNow }) => !isBusy(state, leaseNow))
    const found = health.state()
    if (!isIdle && !found.ok && found.kind === 'damaged') throw storeUnavailable('damaged', { damaged: true })
    return isIdle
  })
  return async ({ sessionId }, context) => {
    const { workspaceId: workspace } = principalOf(context)
    const signal = AbortSignal.any([context.signal, drainSignalOf(context)])
    await idleness.until({ workspace, sessionId }, signal, (isIdle) => (isIdle ? 'idle' : undefined))
    return {}
  }
}
