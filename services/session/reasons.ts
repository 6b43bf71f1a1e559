import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { closingReasons } from '#shared/rpc/server-reasons.ts'
import { storeReasons } from '#shared/stores/store-outage.ts'

export const reasons = {
  ...storeReasons,
  ...closingReasons,
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'The call names no principal' },
  REQUEST_INVALID: { code: Code.InvalidArgument, message: '{field}: {problem}' },
  INVALID_CURSOR: { code: Code.InvalidArgument, message: 'Invalid cursor' },
  SESSION_NOT_FOUND: { code: Code.NotFound, message: 'Session not found: {session_id}' },
  SESSION_EXISTS: { code: Code.AlreadyExists, message: 'Session already exists: {session_id}' },
  SESSION_EMPTY: { code: Code.FailedPrecondition, message: 'Session {session_id} has no messages' },
  MESSAGE_NOT_FOUND: { code: Code.NotFound, message: 'Message not found: {message_id}' },
  MESSAGE_EXISTS: { code: Code.AlreadyExists, message: 'Message already exists: {message_id}' },
  PERMISSION_REQUEST_NOT_FOUND: { code: Code.NotFound, message: 'Permission request not found: {request_id}' },
  PROMPT_CONFLICT: { code: Code.AlreadyExists, message: 'The id {message_id} is used for something else' },
  INBOX_FULL: { code: Code.FailedPrecondition, message: '{limit} items are already waiting in session {session_id}' },
  INBOX_ITEM_CANCELLED: {
    code: Code.FailedPrecondition,
    message: 'The item {message_id} was cancelled and will never run; to send it again, use another id',
  },
  INBOX_ITEM_CONFLICT: { code: Code.FailedPrecondition, message: 'The item {message_id} {problem}' },
  DESTINATION_INVALID: { code: Code.InvalidArgument, message: '{problem}: {directory}' },
  ATTACHMENT_INVALID: { code: Code.InvalidArgument, message: '{problem}' },
  LEASE_LOST: { code: Code.Aborted, message: 'The lease of session {session_id} was lost' },
  EVENTS_OVERFLOWED: { code: Code.ResourceExhausted, message: 'The reader fell behind' },
  PEER_UNAVAILABLE: { code: Code.Unavailable, message: 'A required service cannot be reached' },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    session: keyof typeof reasons
  }
}
