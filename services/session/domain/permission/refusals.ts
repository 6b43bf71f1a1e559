import type { StructuredError } from '../message.ts'
import { CORRECTED, REJECTED } from '../next-action.ts'
import type { PermissionAnswer } from './permission.ts'

const REFUSED: StructuredError = { type: REJECTED, message: 'The user refused the call' }
/** The error of a call whose request nobody answered in time. */
export const UNANSWERED: StructuredError = {
  type: 'permission.timeout',
  message: 'Permission was requested, but nobody answered in time; the call was not run',
}
/** The error of a call whose location was reloaded while it waited for an answer. */
export const RELOADED: StructuredError = {
  type: CORRECTED,
  message: 'The location was reloaded before anybody answered',
}

/** If no user rejected a request, it was closed with the message of one of these. */
const CLOSED: readonly StructuredError[] = [UNANSWERED, RELOADED]

/** The error of a call whose request was answered in this way; undefined: the call may run. */
export function refusalOf({ reply, message }: PermissionAnswer): StructuredError | undefined {
  if (reply !== 'reject') return undefined
  if (message === '') return REFUSED
  const closed = CLOSED.find((error) => error.message === message)
  return closed ?? { type: CORRECTED, message: `The user refused the call: ${message}` }
}
