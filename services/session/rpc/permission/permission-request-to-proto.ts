import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { PermissionRequestSchema } from '#gen/portico/session/v1/session_pb.js'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'

/** A permission request as other services see it. */
export function permissionRequestToProto(request: PermissionRequest): MessageInitShape<typeof PermissionRequestSchema> {
  return {
    requestId: request.id,
    sessionId: request.sessionId,
    action: request.action,
    resources: [...request.resources],
    savePatterns: [...request.savePatterns],
    messageId: request.messageId,
    callId: request.callId,
    createTime: timestampFromMs(request.timeCreated),
    expireTime: timestampFromMs(request.timeExpires),
  }
}
