import type { ServiceImpl } from '@connectrpc/connect'
import type { PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import { ReplyPermissionRequestRequestSchema, type SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { PermissionReply } from '#services/session/domain/permission/permission.ts'
import { answerRequest } from '#services/session/domain/permission/permission-answers.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { checkLimits } from '#shared/rpc/field-limits.ts'
import { check } from '#shared/rpc/parse.ts'
import { replies } from '../enums.ts'
import { sessionBelow, unlessRemoved } from './requests-below.ts'

const checkRequest = checkLimits(ReplyPermissionRequestRequestSchema)

/** Replies to a permission request of the session or one below it; the drain that requested it observes the answer. */
export function replyPermissionRequest(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['replyPermissionRequest'] {
  const { store } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const { sessionId, requestId } = request
    checkRequest(request)
    const answer = { reply: parseReply(request.reply), message: request.message ?? '' }
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
  }
}

function parseReply(reply: Reply): PermissionReply {
  const known = replies.fromProto(reply)
  const problem = 'must be PERMISSION_REPLY_ONCE, PERMISSION_REPLY_ALWAYS or PERMISSION_REPLY_REJECT'
  check(known !== undefined, 'reply', problem)
  return known
}
