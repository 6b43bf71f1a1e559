import type { ServiceImpl } from '@connectrpc/connect'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { permissionRequestToProto } from './permission-request-to-proto.ts'

/** How many requests a list has at most. */
const MOST = 1_000

/**
 * Lists the permission requests that wait for an answer, of one session and those below it, or of the whole workspace.
 */
export function listPermissionRequests(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['listPermissionRequests'] {
  const { store } = dependencies
  return async ({ sessionId }, context) => {
    const { workspaceId } = principalOf(context)
    if (sessionId === undefined) {
      const waiting = await store.listPermissionRequests(workspaceId)
      return { requests: waiting.map(permissionRequestToProto) }
    }
    if ((await store.getSession(workspaceId, sessionId)) === undefined) throw sessionNotFound(sessionId)
    const own = await store.listPermissionRequests(workspaceId, sessionId)
    const requests = [...own]
    const parents = new Map<string, string | undefined>([[sessionId, undefined]])
    let below = 0
    for await (const batch of store.waitingRequests(workspaceId)) {
      context.signal.throwIfAborted()
      for (const request of batch) {
        if (below === MOST || !(await isBelow(request.sessionId))) continue
        requests.push(request)
        below++
      }
      if (below === MOST) break
    }
    requests.sort((a, b) => a.timeCreated - b.timeCreated)
    return { requests: requests.slice(0, MOST).map(permissionRequestToProto) }

    async function isBelow(id: string): Promise<boolean> {
      const seen = new Set<string>()
      for (let above = await parentOf(id); above !== undefined && !seen.has(above); above = await parentOf(above)) {
        if (above === sessionId) return true
        seen.add(above)
      }
      return false
    }

    async function parentOf(id: string): Promise<string | undefined> {
      if (!parents.has(id)) parents.set(id, await store.parentOf(workspaceId, id))
      return parents.get(id)
    }
  }
}
