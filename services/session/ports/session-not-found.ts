import { Rejection } from '#shared/rejection.ts'

/** The refusal of a session that the workspace does not have. */
export function sessionNotFound(sessionId: string): Rejection {
  return new Rejection('SESSION_NOT_FOUND', { session_id: sessionId })
}
