import { z } from 'zod'
import { metadata } from '../records/free.ts'
import { messageID } from '../records/ids.ts'
import { delivery } from '../records/prompt.ts'

/** Body of session.synthetic. */
export const syntheticBody = z.strictObject({
  id: messageID.nullish(),
  text: z.string(),
  description: z.string().nullish(),
  metadata: metadata.nullish(),
  delivery: delivery.nullish(),
  resume: z.boolean().nullish(),
})

/** Body of session.inbox.update. */
export const updateItemBody = z.strictObject({ delivery })
