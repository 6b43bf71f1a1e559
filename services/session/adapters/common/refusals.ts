import { isLeaseLive } from '#services/session/domain/session-state.ts'
import type { SessionKey } from '#services/session/ports/lease.ts'
import type { SessionView } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'

/** Refuses a session that is not there, and a lease that is lost: expired, released, or with an older fence. */
export function requireSession<V extends SessionView>(key: SessionKey, view: V | undefined): asserts view is V {
  if (view === undefined) throw new Rejection('SESSION_NOT_FOUND', { session_id: key.sessionId })
  if (key.fence === undefined) return
  if (key.fence !== view.state.fence || !isLeaseLive(view.state, view.leaseNow)) throw leaseLost(key)
}

/** The refusal of a lease that is lost. */
export function leaseLost({ sessionId }: SessionKey): Rejection {
  return new Rejection('LEASE_LOST', { session_id: sessionId })
}
