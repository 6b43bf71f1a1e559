import type { ServiceImpl } from '@connectrpc/connect'
import { PermissionReplySchema, type PermissionRequest } from '#gen/portico/session/v1/session_pb.js'
import { ReplyPermissionRequestRequestSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { Places } from '#shared/places.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { checkEnum } from '#shared/rpc/parse.ts'
import { answerRequest, rejectForReload, waitingRequest } from '../domain/permission/permission-requests.ts'
import { type SessionStore, sessionNotFound } from '../ports/session-store.ts'
import type { SessionDependencies } from './dependencies.ts'
import { peerCallOf } from './peer-call.ts'

const checkRequest = checkLimits(ReplyPermissionRequestRequestSchema)

/** In how many sessions requests are rejected at once. */
const SESSIONS_AT_ONCE = 16
/** How many requests a list contains at most. */
const MOST_LISTED = 1_000

/** The handlers of permission requests and saved approvals. */
export function permissionHandlers(dependencies: SessionDependencies) {
  const { store, catalog } = dependencies
  return {
    /**
     * Lists the permission requests that wait for an answer, of one session and those below it, or of the whole
     * workspace.
     */
    async listPermissionRequests({ sessionId }, context) {
      const { workspaceId } = principalOf(context)
      if (sessionId === undefined) {
        const waiting = await store.listPermissionRequests(workspaceId)
        return { requests: [...waiting] }
      }
      if ((await store.getSession(workspaceId, sessionId)) === undefined) throw sessionNotFound(sessionId)
      const own = await store.listPermissionRequests(workspaceId, sessionId)
      const requests = [...own]
      let below = 0
      for await (const request of requestsBelow(store, workspaceId, sessionId, context.signal)) {
        requests.push(request)
        if (++below === MOST_LISTED) break
      }
      requests.sort((a, b) => a.createTime - b.createTime)
      return { requests: requests.slice(0, MOST_LISTED) }
    },
    /** Gets a permission request that waits for an answer, in the session or below it. */
    async getPermissionRequest({ sessionId, requestId }, context) {
      const { workspaceId } = principalOf(context)
      const requestIn = (id: string) =>
        store.inspect(
          { workspace: workspaceId, sessionId: id },
          (reads) => reads.request(requestId),
          ({ now }, entry) => waitingRequest(entry, now),
        )
      const own = await requestIn(sessionId)
      const below = own === undefined ? await sessionBelow(store, workspaceId, sessionId, requestId) : undefined
      const request = below === undefined ? own : await unlessRemoved(requestIn(below))
      if (request === undefined) throw new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
      return { request }
    },
    /**
     * Replies to a permission request of the session or one below it; the drain that requested it observes the answer.
     */
    async replyPermissionRequest(request, context) {
      const { workspaceId } = principalOf(context)
      const { sessionId, requestId } = request
      checkRequest(request)
      checkEnum(PermissionReplySchema, request.reply, 'reply')
      const answer = { reply: request.reply, message: request.message ?? '' }
      const replyIn = (id: string): Promise<boolean> =>
        store.revise(
          { workspace: workspaceId, sessionId: id },
          (reads) => reads.waitingRequests(),
          (revision, waiting) => answerRequest(revision, waiting, requestId, answer),
        )
      if (await replyIn(sessionId)) return {}
      const below = await sessionBelow(store, workspaceId, sessionId, requestId)
      if (below !== undefined && (await unlessRemoved(replyIn(below)))) return {}
      throw new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
    },
    /** Has the catalog reload the caller's locations, and rejects the permission requests of their sessions. */
    async reloadLocations(_, context) {
      const call = peerCallOf(context)
      const failure = await catalog.reloadLocations(call).then(() => undefined, failedReload)
      await rejectWaiting(store, call.principal.workspaceId, call.signal)
      if (failure !== undefined) throw failure
      return {}
    },
    async listSavedApprovals({ projectId }, context) {
      const { workspaceId } = principalOf(context)
      return { approvals: [...(await store.listApprovals(workspaceId, projectId))] }
    },
    /** Deletes an approval: from the next tool call on, only the rules judge what it allowed. */
    async deleteSavedApproval({ approvalId }, context) {
      const { workspaceId } = principalOf(context)
      await store.deleteApproval(workspaceId, approvalId)
      return {}
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>
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
  const ids = new Set(requests.map(({ requestId }) => requestId))
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

/** The permission requests that wait in the sessions below one, in no order. */
async function* requestsBelow(
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
async function sessionBelow(
  store: SessionStore,
  workspace: string,
  sessionId: string,
  requestId: string,
): Promise<string | undefined> {
  const owner = await store.sessionOfRequest(workspace, requestId)
  return owner !== undefined && (await belowOf(store, workspace, sessionId)(owner)) ? owner : undefined
}

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
function unlessRemoved<T>(done: Promise<T>): Promise<T | undefined> {
  return done.catch((error: unknown) => {
    if (error instanceof Rejection && error.reason === 'SESSION_NOT_FOUND') return undefined
    throw error
  })
}
