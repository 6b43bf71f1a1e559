import { z } from 'zod'
import { structuredError } from '../records/error.ts'
import { sessionLocation } from '../records/location.ts'
import { modelRef } from '../records/model.ts'
import { outcome } from '../records/outcome.ts'
import { pageQuery } from '../records/page.ts'
import { prompt, synthetic } from '../records/prompt.ts'
import { assistant, common, compaction, noted, shell } from './kinds.ts'

const TYPES = [
  'user',
  'assistant',
  'synthetic',
  'agent-switched',
  'model-switched',
  'location-switched',
  'idle',
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

/** `Session.Message.Info` (instance facts 1.6). */
export const message = z
  .discriminatedUnion('type', [
    z.strictObject({ ...common, type: z.literal('user'), ...prompt }),
    assistant,
    z.strictObject({
      ...noted,
      type: z.literal('agent-switched'),
      agent: z.string(),
      previous: z.string().optional(),
    }),
    z.strictObject({ ...noted, type: z.literal('model-switched'), model: modelRef, previous: modelRef.optional() }),
    z.strictObject({ ...common, type: z.literal('synthetic'), ...synthetic }),
    z.strictObject({
      ...noted,
      type: z.literal('location-switched'),
      ...sessionLocation,
      previous: z.strictObject(sessionLocation).optional(),
    }),
    z.strictObject({ ...noted, type: z.literal('idle'), outcome, error: structuredError.optional() }),
    z.strictObject({
      ...noted,
      type: z.literal('system'),
      text: z.string(),
      description: z.string().optional(),
    }),
    z.strictObject({ ...noted, type: z.literal('skill'), skill: z.string(), name: z.string(), text: z.string() }),
    shell,
    compaction,
  ])
  .meta({ id: 'Session.Message.Info' })
