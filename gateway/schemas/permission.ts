import { z } from 'zod'
import { PermissionReply, type PermissionRequest } from '#gen/portico/session/v1/session_pb.js'

const REPLIES = {
  once: PermissionReply.ONCE,
  always: PermissionReply.ALWAYS,
  reject: PermissionReply.REJECT,
} as const

/** Body of a permission reply. */
export const permissionReplyBody = z
  .strictObject({ reply: z.enum(['once', 'always', 'reject']), message: z.string().max(4_096).nullish() })
  .transform(({ reply, message }) => ({ reply: REPLIES[reply], message: message ?? '' }))

/** The public name of a reply. */
export function permissionReplyName(reply: PermissionReply): 'once' | 'always' | 'reject' {
  if (reply === PermissionReply.ONCE) return 'once'
  return reply === PermissionReply.ALWAYS ? 'always' : 'reject'
}

/** A permission request (`contract/instance-facts.md` 3.13). */
export function permissionRequest(request: PermissionRequest | undefined) {
  if (request === undefined) return undefined
  const { requestId, sessionId, action, resources, savePatterns, messageId, callId } = request
  return {
    id: requestId,
    sessionID: sessionId,
    action,
    resources,
    save: savePatterns.length === 0 ? undefined : savePatterns,
    source: callId === '' ? undefined : { type: 'tool', messageID: messageId, id: callId },
  }
}
