import { z } from 'zod'
import { retry, structuredError } from '../records/error.ts'
import { finish } from '../records/finish.ts'
import { sessionLocation } from '../records/location.ts'
import { modelRef } from '../records/model.ts'
import { outcome } from '../records/outcome.ts'
import { pageQuery } from '../records/page.ts'
import { prompt, synthetic } from '../records/prompt.ts'
import { time } from '../records/time.ts'
import { toolContent } from '../records/tool-content.ts'
import { cost, tokenUsage } from '../records/usage.ts'
import { freeObject } from '../shape.ts'

/** Query of session.messages. */
export const listMessagesQuery = z.object({
  limit: z
    .string()
    .regex(/^0{0,12}(?:[1-9]\d?|1\d\d|200)$/, 'must be an integer from 1 to 200')
    .optional()
    .meta({ description: 'Maximum number of messages; default: 50' }),
  ...pageQuery,
})

const common = { id: z.string(), time: z.strictObject({ created: time }) }
const input = freeObject('Each tool has arguments of its own.')
const toolMetadata = freeObject('Free-form data of the tool.')

const toolState = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('streaming'), input: z.string() }),
  z.strictObject({ status: z.literal('running'), input, metadata: toolMetadata }),
  z.strictObject({
    status: z.literal('completed'),
    input,
    content: z.array(toolContent),
    metadata: toolMetadata.optional(),
  }),
  z.strictObject({
    status: z.literal('error'),
    input,
    error: structuredError,
    content: z.array(toolContent).optional(),
    metadata: toolMetadata.optional(),
  }),
])

/** A part of an assistant message. */
export const assistantPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('reasoning'),
    text: z.string(),
    state: freeObject('Data of the provider, returned to it unchanged.').optional(),
    time: z.strictObject({ created: time, completed: time.optional() }).optional(),
  }),
  z.strictObject({
    type: z.literal('tool'),
    id: z.string().meta({ description: 'Tool call' }),
    name: z.string(),
    state: toolState,
    time: z.strictObject({ created: time, ran: time.optional(), completed: time.optional() }),
  }),
])

const assistant = z.strictObject({
  id: z.string(),
  type: z.literal('assistant'),
  time: z.strictObject({ created: time, streamed: time.optional(), completed: time.optional() }),
  agent: z.string(),
  model: modelRef,
  content: z.array(assistantPart),
  finish: finish.optional(),
  rawFinish: z.string().optional(),
  cost: cost.optional(),
  tokens: tokenUsage.optional(),
  error: structuredError.optional(),
  retry: retry.optional(),
})

/** `Session.Message.Info` (instance facts 1.6). */
export const message = z
  .discriminatedUnion('type', [
    z.strictObject({ ...common, type: z.literal('user'), ...prompt }),
    assistant,
    z.strictObject({
      ...common,
      type: z.literal('agent-switched'),
      agent: z.string(),
      previous: z.string().optional(),
    }),
    z.strictObject({ ...common, type: z.literal('model-switched'), model: modelRef, previous: modelRef.optional() }),
    z.strictObject({ ...common, type: z.literal('synthetic'), ...synthetic }),
    z.strictObject({
      ...common,
      type: z.literal('location-switched'),
      ...sessionLocation,
      previous: z.strictObject(sessionLocation),
    }),
    z.strictObject({ ...common, type: z.literal('idle'), outcome, error: structuredError.optional() }),
  ])
  .meta({ id: 'Session.Message.Info' })
