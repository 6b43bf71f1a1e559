import { isLeaseLive } from '#services/session/domain/session-state.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import type { SessionView } from '#services/session/ports/session-store.ts'
import { sessionNotFound } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'

/**
 * Rejects if the session does not exist, or if the lease is lost: expired, released, with an older fence, or of a
 * session that was removed.
 */
export function requireSession<V extends SessionView>(key: SessionKey, view: V | undefined): asserts view is V {
  if (view === undefined) throw key.fence === undefined ? sessionNotFound(key.sessionId) : leaseLost(key)
  if (key.fence === undefined) return
  if (key.fence !== view.state.fence || !isLeaseLive(view.state, view.leaseNow)) throw leaseLost(key)
}

/** The rejection of an id that a session already has. */
export function sessionExists({ sessionId }: { readonly sessionId: string }): Rejection {
  return new Rejection('SESSION_EXISTS', { session_id: sessionId })
}

/**
 * The rejection of a staged session that was not extended in time, or was replaced by another one, which was then
 * abandoned.
 */
export function stagingOver(): Rejection {
  return storeUnavailable('the time of a staged session was over, or another one was staged in its place and abandoned')
}

/** The rejection of a session under the id of a removed one that still has sessions below it. */
export function stillBelow(): Rejection {
  return storeUnavailable('sessions below a removed one still exist')
}

/** The rejection of an id that is already in use. */
export function messageExists(messageId: string): Rejection {
  return new Rejection('MESSAGE_EXISTS', { message_id: messageId })
}

export function leaseLost({ sessionId }: SessionKey): Rejection {
  return new Rejection('LEASE_LOST', { session_id: sessionId })
}
