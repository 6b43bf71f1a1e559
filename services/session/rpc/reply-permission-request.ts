import type { ServiceImpl } from '@connectrpc/connect'
import { PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import type { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { PermissionReply } from '../domain/permission.ts'
import type { SessionStore } from '../ports.ts'
import { invalid, parseText } from './parse.ts'

const MAX_MESSAGE_LENGTH = 4_096

/** Answers a permission request; the drain that asked observes the answer. */
export function replyPermissionRequest(dependencies: {
  readonly store: SessionStore
}): ServiceImpl<typeof SessionService>['replyPermissionRequest'] {
  const { store } = dependencies
  return async (request, context) => {
    const { workspaceId } = principalOf(context)
    const { sessionId, requestId } = request
    const message = parseText('message', request.message, 0, MAX_MESSAGE_LENGTH)
    await store.replyPermission(workspaceId, sessionId, requestId, { reply: parseReply(request.reply), message })
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
