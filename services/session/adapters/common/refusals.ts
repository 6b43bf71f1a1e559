import { isLeaseLive } from '#services/session/domain/session-state.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import { sessionNotFound } from '#services/session/ports/session-not-found.ts'
import type { SessionView } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'

/**
 * Refuses a session that is not there, and a lease that is lost: expired, released, with an older fence, or of a
 * session that is gone.
 */
export function requireSession<V extends SessionView>(key: SessionKey, view: V | undefined): asserts view is V {
  if (view === undefined) throw key.fence === undefined ? sessionNotFound(key.sessionId) : leaseLost(key)
  if (key.fence === undefined) return
  if (key.fence !== view.state.fence || !isLeaseLive(view.state, view.leaseNow)) throw leaseLost(key)
}

/** The refusal of an id that a session has already. */
export function sessionExists({ sessionId }: { readonly sessionId: string }): Rejection {
  return new Rejection('SESSION_EXISTS', { session_id: sessionId })
}

/**
 * The refusal of a staged session that nobody has extended in time, or that another one has replaced, which came to
 * nothing.
 */
export function stagingOver(): Rejection {
  return storeUnavailable('the time of a staged session was over, or another one was staged in its place and abandoned')
}

/** The refusal of a session under the id of a removed one, below which there are others yet. */
export function stillBelow(): Rejection {
  return storeUnavailable('sessions below a removed one still exist')
}

/** The refusal of an id that names something already. */
export function messageExists(messageId: string): Rejection {
  return new Rejection('MESSAGE_EXISTS', { message_id: messageId })
}

/** The refusal of a lease that is lost. */
export function leaseLost({ sessionId }: SessionKey): Rejection {
  return new Rejection('LEASE_LOST', { session_id: sessionId })
}
