import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'

/** The permission requests that wait in the sessions below one, in no order. */
export async function* requestsBelow(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  signal: AbortSignal,
): AsyncGenerator<PermissionRequest> {
  const isBelow = belowOf(store, workspace, sessionId)
  for await (const batch of store.waitingRequests(workspace)) {
    signal.throwIfAborted()
    for (const request of batch) if (await isBelow(request.sessionId)) yield request
  }
}

/** The session below one in which a permission request waits; only its ancestors are read. */
export async function sessionBelow(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  requestId: string,
): Promise<string | undefined> {
  const found = await store.sessionOfRequest(workspace, requestId)
  return found !== undefined && (await belowOf(store, workspace, sessionId)(found)) ? found : undefined
}

/** Whether a session is below this one. */
function belowOf(store: SessionStore, workspace: string, sessionId: string): (id: string) => Promise<boolean> {
  const parents = new Map<string, string | undefined>([[sessionId, undefined]])
  return async (id) => {
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

/** What is done in a session below; undefined: it was removed in the meantime, with its requests. */
export function unlessRemoved<T>(done: Promise<T>): Promise<T | undefined> {
  return done.catch((error: unknown) => {
    if (error instanceof Rejection && error.reason === 'SESSION_NOT_FOUND') return undefined
    throw error
  })
}
