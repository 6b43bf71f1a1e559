import type { ServiceImpl } from '@connectrpc/connect'
import { PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { PermissionReply } from '#services/session/domain/permission/permission.ts'
import { answerRequest } from '#services/session/domain/permission/permission-answers.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { invalid, parseText } from '#shared/rpc/parse.ts'

const MAX_MESSAGE_LENGTH = 4_096

/** Replies to a permission request; the drain that asked observes the answer. */
export function replyPermissionRequest(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['replyPermissionRequest'] {
  const { store } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const { sessionId, requestId } = request
    const message = parseText('message', request.message, 0, MAX_MESSAGE_LENGTH)
    const answer = { reply: parseReply(request.reply), message }
    await store.revise(
      { workspace: workspaceId, sessionId },
      (reads) => reads.waitingRequests(),
      (revision, waiting) => {
        if (answerRequest(revision, waiting, requestId, answer)) return
        throw new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
      },
    )
    return {}
  }
}

function parseReply(reply: Reply): PermissionReply {
  switch (reply) {
    case Reply.ONCE:
      return 'once'
    case Reply.ALWAYS:
      return 'always'
    case Reply.REJECT:
      return 'reject'
    default:
      throw invalid('reply', 'must be PERMISSION_REPLY_ONCE, PERMISSION_REPLY_ALWAYS or PERMISSION_REPLY_REJECT')
  }
}
