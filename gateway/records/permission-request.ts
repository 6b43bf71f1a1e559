import { z } from 'zod'
import { PermissionReply, type PermissionRequest } from '#gen/portico/session/v1/session_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'

export const permissionRequest = z
  .strictObject({
    id: z.string(),
    sessionID: z.string(),
    action: z.string(),
    resources: z.array(z.string()),
    save: z.array(z.string()).optional().meta({ description: 'Patterns that the reply `always` saves' }),
    source: z.strictObject({ type: z.literal('tool'), messageID: z.string(), id: z.string() }).optional(),
  })
  .meta({ id: 'Permission.Request' })

export const permissionReply = z.enum(['once', 'always', 'reject'])

const replies = enumTable({
  once: PermissionReply.ONCE,
  always: PermissionReply.ALWAYS,
  reject: PermissionReply.REJECT,
})

export const toPermissionReply: (reply: z.output<typeof permissionReply>) => PermissionReply = replies.toProto

export function fromPermissionReply(reply: PermissionReply): z.output<typeof permissionReply> {
  return replies.fromProto(reply) ?? 'reject'
}

export function fromPermissionRequest(request: PermissionRequest | undefined): JsonOf<typeof permissionRequest> {
  if (request === undefined) throw new Error('A service returned no permission request')
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
