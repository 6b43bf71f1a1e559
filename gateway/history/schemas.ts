import { z } from 'zod'
import { ListMessagesRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { pageQuery } from '../records/page.ts'

const TYPES = [
  ...(['user', 'assistant', 'synthetic', 'system', 'skill', 'shell', 'compaction'] as const),
  ...(['agent-switched', 'model-switched', 'location-switched', 'idle'] as const),
] as const

/** Query of session.messages. */
export const listMessagesQuery = z.object({
  ...pageQuery,
  limit: pageQuery.limit.meta({
    description: `Maximum number of messages, at most ${limitOf(ListMessagesRequestSchema.field.pageSize).most}; default: 50`,
  }),
  type: z.enum(TYPES).optional().meta({ description: 'Only messages of this type' }),
})
