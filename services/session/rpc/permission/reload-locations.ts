import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import { rejectForReload } from '#services/session/domain/permission/permission-answers.ts'
import type { Catalog } from '#services/session/ports/catalog.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Places } from '#shared/places.ts'
import { Rejection } from '#shared/rejection.ts'
import { peerCallOf } from '../peer-call.ts'

/** In how many sessions requests are rejected at once. */
const SESSIONS_AT_ONCE = 16
/** How many requests a list contains at most. */
const MOST_LISTED = 1_000

/** Has the catalog reload the caller's locations, and rejects the permission requests of their sessions. */
export function reloadLocations(dependencies: {
  readonly store: SessionStore
  readonly catalog: Catalog
}): ServiceImpl<typeof SessionService>['reloadLocations'] {
  const { store, catalog } = dependencies
  return async (_, context) => {
    const call = peerCallOf(context)
    const failure = await catalog.reloadLocations(call).then(() => undefined, failedReload)
    await rejectWaiting(store, call.principal.workspaceId, call.signal)
    if (failure !== undefined) throw failure
    return {}
  }
}

/** Some locations could not be reloaded. With any other rejection, none was. */
function failedReload(error: unknown): unknown {
  if (error instanceof Rejection && error.reason === 'LOCATION_RELOAD_FAILED') return error
  throw error
}

/**
 * Rejects the requests of a workspace that wait now, wherever their sessions run: their owners observe that in the
 * store. Requests that are made meanwhile may wait, since they are made to the reloaded locations.
 */
async function rejectWaiting(store: SessionStore, workspace: string, signal: AbortSignal): Promise<void> {
  const places = new Places(SESSIONS_AT_ONCE)
  let waiting: readonly PermissionRequest[]
  do {
    // When the service stops, the catalog has ended its calls, and the store is closed next.
    signal.throwIfAborted()
    waiting = await store.listPermissionRequests(workspace)
    const bySession = Map.groupBy(waiting, ({ sessionId }) => sessionId)
    await Promise.all([...bySession].map((one) => rejectOf(store, workspace, one, places, signal)))
  } while (waiting.length === MOST_LISTED)
}

async function rejectOf(
  store: SessionStore,
  workspace: string,
  [sessionId, requests]: readonly [string, readonly PermissionRequest[]],
  places: Places,
  signal: AbortSignal,
): Promise<void> {
  using _ = await places.take(signal)
  const ids = new Set(requests.map(({ id }) => id))
  const rejecting = store.revise(
    { workspace, sessionId },
    (reads) => reads.waitingRequests(),
    (revision, waiting) => rejectForReload(revision, waiting, ids),
  )
  await rejecting.catch((error: unknown) => {
    // The session was removed meanwhile, with its requests.
    if (!(error instanceof Rejection) || error.reason !== 'SESSION_NOT_FOUND') throw error
  })
}
