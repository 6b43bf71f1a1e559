import { z } from 'zod'
import { messageID, sessionID } from '#gateway/records/ids.ts'
import { locationRef } from '#gateway/records/location.ts'
import { message } from '#gateway/records/message.ts'
import { time } from '#gateway/records/time.ts'
import { tokenUsage } from '#gateway/records/usage.ts'
import { freeObject } from '#gateway/shape.ts'
import { sessionInfo } from '../schemas.ts'

export const exportQuery = z.object({
  sanitize: z.enum(['true', 'false']).optional().meta({ description: 'Whether to redact all content' }),
})

export const transferData = z
  .strictObject({ info: sessionInfo, messages: z.array(message) })
  .meta({ id: 'SessionTransfer.Data' })

const notTakenOver = 'Ignored'

/** The session of an import: as an export shows it, and as other servers do. */
const importedInfo = z.strictObject({
  ...sessionInfo.shape,
  id: sessionID,
  parentID: sessionID.optional(),
  projectID: z.string().optional().meta({ description: notTakenOver }),
  location: locationRef.optional().meta({ description: notTakenOver }),
  subpath: z.string().optional().meta({ description: notTakenOver }),
  revert: freeObject(notTakenOver).optional(),
  tokens: tokenUsage.extend({ context: z.number().optional().meta({ description: notTakenOver }) }),
  time: z.strictObject({
    created: time,
    updated: time.optional().meta({ description: notTakenOver }),
    idle: time.optional(),
    viewed: time.optional(),
    archived: time.optional(),
  }),
})

export const importedMessage = message.refine(({ id }) => messageID.safeParse(id).success, {
  path: ['id'],
  error: 'must be a message id (msg_…)',
})

const importedLocation = locationRef
  .optional()
  .meta({ description: 'Where the session works; default: the default directory' })

export type ImportedInfo = z.output<typeof importedInfo>

export const importBody = z.strictObject({
  info: importedInfo,
  messages: z.array(message),
  location: importedLocation.nullable(),
})
