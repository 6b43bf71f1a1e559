import { z } from 'zod'
import { pageQuery } from '../records/page.ts'

const TYPES = [
  ...(['user', 'assistant', 'synthetic', 'system', 'skill', 'shell', 'compaction'] as const),
  ...(['agent-switched', 'model-switched', 'location-switched', 'idle'] as const),
] as const

/** Query of session.messages. */
export const listMessagesQuery = z.object({
  limit: z
    .string()
    .regex(/^0{0,12}(?:[1-9]\d?|1\d\d|200)$/, 'must be an integer from 1 to 200')
    .optional()
    .meta({ description: 'Maximum number of messages; default: 50' }),
  ...pageQuery,
  type: z.enum(TYPES).optional().meta({ description: 'Only messages of this type' }),
})
