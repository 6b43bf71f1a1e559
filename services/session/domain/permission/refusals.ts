import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { CORRECTED, REJECTED } from '../next-action.ts'
import { structuredError } from '../structured-error.ts'
import type { PermissionAnswer } from './permission.ts'

const REFUSED = structuredError(REJECTED, 'The user refused the call')
/** The error of a call whose request nobody answered in time. */
export const UNANSWERED = structuredError(
  'permission.timeout',
  'Permission was requested, but nobody answered in time; the call was not run',
)
/** The error of a call whose location was reloaded while it waited for an answer. */
export const RELOADED = structuredError(CORRECTED, 'The location was reloaded before anybody answered')

/** If no user rejected a request, it was closed with the message of one of these. */
const CLOSED: readonly StructuredError[] = [UNANSWERED, RELOADED]

/** The error of a call whose request was answered in this way; undefined: the call may run. */
export function refusalOf({ reply, message }: PermissionAnswer): StructuredError | undefined {
  if (reply !== PermissionReply.REJECT) return undefined
  if (message === '') return REFUSED
  const closed = CLOSED.find((error) => error.message === message)
  return closed ?? structuredError(CORRECTED, `The user refused the call: ${message}`)
}
