import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { PermissionReply, type PermissionRequest } from '#gen/portico/session/v1/session_pb.js'
import { parkInputs } from '../inbox/wake.ts'
import { CORRECTED, REJECTED } from '../next-action.ts'
import type { Revision } from '../revision.ts'
import { isLeaseLive } from '../session-state.ts'
import { structuredError } from '../structured-error.ts'

/** The answer to a request; the model is shown `message`, and a rejection without one ends the run. */
export interface PermissionAnswer {
  readonly reply: PermissionReply
  readonly message: string
}

/** A request and its answer. */
export interface RequestEntry {
  readonly request: PermissionRequest
  /** Undefined while nobody answered it. */
  readonly answer: PermissionAnswer | undefined
}

/** Writes a request that waits, under the lease that the session has. */
export function requestPermission(revision: Revision, init: PermissionRequest): void {
  const request = { ...init, fence: revision.state.fence }
  revision.writes.push({ type: 'request', seq: revision.nextSeq(), request })
  revision.event({ case: 'permissionAsked', value: { request } })
}

/** The request, if it waits: nobody has answered it, and it has not expired. */
export function waitingRequest(entry: RequestEntry | undefined, now: number): PermissionRequest | undefined {
  if (entry === undefined || entry.answer !== undefined) return undefined
  return entry.request.expireTime > now ? entry.request : undefined
}

/** Ends a waiting request. */
export function closeRequest(revision: Revision, requestId: string, reply: PermissionReply, message = ''): void {
  revision.writes.push({ type: 'answer', requestId, reply, message })
  revision.event({ case: 'permissionReplied', value: { requestId, reply } })
}

/** Rejects the named waiting requests of the session; the run continues. */
export function rejectForReload(
  revision: Revision,
  waiting: readonly PermissionRequest[],
  ids: ReadonlySet<string>,
): void {
  for (const { requestId } of waiting)
    if (ids.has(requestId)) closeRequest(revision, requestId, PermissionReply.REJECT, RELOADED.message)
}

/**
 * Answers one of the session's waiting requests; false when it is not among them or has expired, or the run that
 * requested it no longer holds the lease: then it was cut off, and whoever takes over ends the call. `always` saves its
 * patterns for the project; `reject` rejects the others too, with the same message, and without one ends the run as an
 * interrupt would, whatever other requests of the step were answered.
 */
export function answerRequest(
  revision: Revision,
  waiting: readonly PermissionRequest[],
  requestId: string,
  answer: PermissionAnswer,
): boolean {
  const { state, now, leaseNow } = revision
  const open = waiting.filter(({ expireTime, fence }) => expireTime > now && fence === state.fence)
  const request = open.find((each) => each.requestId === requestId)
  if (request === undefined || !isLeaseLive(state, leaseNow)) return false
  closeRequest(revision, requestId, answer.reply, answer.message)
  if (answer.reply === PermissionReply.ALWAYS) {
    const { projectId } = state
    for (const pattern of request.savePatterns) {
      revision.writes.push({ type: 'approve', projectId, action: request.action, pattern })
    }
  }
  if (answer.reply === PermissionReply.REJECT) {
    for (const other of open) {
      if (other !== request) closeRequest(revision, other.requestId, PermissionReply.REJECT, answer.message)
    }
    if (answer.message === '') parkInputs(revision)
  }
  return true
}

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
