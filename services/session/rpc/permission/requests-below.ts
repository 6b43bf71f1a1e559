import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'

/** The permission requests that wait in the sessions below one, in no order. */
export async function* requestsBelow(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  signal: AbortSignal,
): AsyncGenerator<PermissionRequest> {
  const parents = new Map<string, string | undefined>([[sessionId, undefined]])
  for await (const batch of store.waitingRequests(workspace)) {
    signal.throwIfAborted()
    for (const request of batch) if (await isBelow(request.sessionId)) yield request
  }

  async function isBelow(id: string): Promise<boolean> {
    const seen = new Set<string>()
    for (
      let ancestor = await parentOf(id);
      ancestor !== undefined && !seen.has(ancestor);
      ancestor = await parentOf(ancestor)
    ) {
      if (ancestor === sessionId) return true
      seen.add(ancestor)
    }
    return false
  }

  async function parentOf(id: string): Promise<string | undefined> {
    if (!parents.has(id)) parents.set(id, await store.parentOf(workspace, id))
    return parents.get(id)
  }
}

/** A permission request that waits in a session below one. */
export async function requestBelow(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  requestId: string,
  signal: AbortSignal,
): Promise<PermissionRequest | undefined> {
  for await (const request of requestsBelow(store, workspace, sessionId, signal)) {
    if (request.id === requestId) return request
  }
  return undefined
}
