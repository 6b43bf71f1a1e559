import {
  type PermissionRequest as PermissionRequestMessage,
  PermissionReply as ReplyMessage,
} from '#gen/portico/session/v1/session_pb.js'
import type { PermissionReply, PermissionRequest } from '../domain/permission.ts'
import { toTimestamp } from './to-session.ts'

const REPLIES: Readonly<Record<PermissionReply, ReplyMessage>> = {
  once: ReplyMessage.ONCE,
  always: ReplyMessage.ALWAYS,
  reject: ReplyMessage.REJECT,
}

/** A request for leave as a message. */
export function toPermissionRequest(request: PermissionRequest): PermissionRequestMessage {
  return {
    $typeName: 'portico.session.v1.PermissionRequest',
    requestId: request.id,
    sessionId: request.sessionId,
    action: request.action,
    resources: [...request.resources],
    savePatterns: [...request.savePatterns],
    messageId: request.messageId,
    callId: request.callId,
    createTime: toTimestamp(request.timeCreated),
    expireTime: toTimestamp(request.timeExpires),
  }
}

/** An answer as a message's value. */
export function toReply(reply: PermissionReply): ReplyMessage {
  return REPLIES[reply]
}

/** The answer that a message's value stands for; undefined for one that is not known. */
export function fromReply(message: ReplyMessage): PermissionReply | undefined {
  return (Object.keys(REPLIES) as PermissionReply[]).find((reply) => REPLIES[reply] === message)
}
