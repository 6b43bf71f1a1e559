import { z } from 'zod'
import { ReplyPermissionRequestRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { permissionReply } from '../records/permission-request.ts'
import { limitedBy } from '../shape.ts'

/** Body of session.permission.reply. */
export const replyBody = z.strictObject({
  reply: permissionReply,
  message: limitedBy(ReplyPermissionRequestRequestSchema.field.message, z.string()).nullish(),
})

/** `Permission.Saved`. */
export const savedApproval = z
  .strictObject({ id: z.string(), projectID: z.string(), action: z.string(), resource: z.string() })
  .meta({ id: 'Permission.Saved', description: 'What a reply `always` has allowed in a project' })
