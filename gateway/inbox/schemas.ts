import { z } from 'zod'
import { FileInputSchema } from '#gen/portico/session/v1/session_pb.js'
import { PromptSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { sentMetadata } from '../records/free.ts'
import { messageID } from '../records/ids.ts'
import { delivery } from '../records/prompt.ts'
import { limitedBy } from '../shape.ts'

/** Body of session.synthetic. */
export const syntheticBody = z.strictObject({
  id: messageID.nullish(),
  text: limitedBy(PromptSessionRequestSchema.field.text, z.string()),
  description: limitedBy(FileInputSchema.field.description, z.string()).nullish(),
  metadata: sentMetadata.nullish(),
  delivery: delivery.nullish(),
  resume: z.boolean().nullish(),
})

/** Body of session.compact. */
export const compactBody = z.strictObject({ id: messageID.nullish(), delivery: delivery.nullish() }).nullish()

/** Body of session.inbox.update. */
export const updateItemBody = z.strictObject({ delivery })
