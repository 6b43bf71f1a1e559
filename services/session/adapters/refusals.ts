import { Rejection } from '#shared/rejection.ts'
import { isLeaseLive } from '../domain/session-state.ts'
import type { Found, Target } from './revising-store.ts'

/** Refuses a session that is not there, and a lease that is lost: expired, released, or with an older fence. */
export function requireSession({ sessionId, lease }: Target, found: Found | undefined): asserts found is Found {
  if (found === undefined) throw new Rejection('SESSION_NOT_FOUND', { session_id: sessionId })
  if (lease === undefined) return
  if (lease.fence === found.state.fence && isLeaseLive(found.state, found.leaseNow)) return
  throw new Rejection('LEASE_LOST', { session_id: sessionId })
}

/** Nothing of that id waits for an answer. */
export function requestNotFound(requestId: string): Rejection {
  return new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
}
