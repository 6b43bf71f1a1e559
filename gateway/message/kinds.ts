import { z } from 'zod'
import { retry, structuredError } from '../records/error.ts'
import { finish } from '../records/finish.ts'
import { metadata } from '../records/free.ts'
import { modelRef } from '../records/model.ts'
import { time } from '../records/time.ts'
import { toolContent } from '../records/tool-content.ts'
import { cost, tokenUsage } from '../records/usage.ts'
import { freeObject } from '../shape.ts'

/** What every message has. */
export const common = { id: z.string(), time: z.strictObject({ created: time }) }
/** Where the metadata is no part of what was said. */
export const noted = { ...common, metadata: metadata.optional() }
const input = freeObject('Each tool has arguments of its own.')
const providerData = freeObject('Data of the provider, returned to it unchanged.')
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
  z.strictObject({ type: z.literal('text'), text: z.string(), state: providerData.optional() }),
  z.strictObject({
    type: z.literal('reasoning'),
    text: z.string(),
    state: providerData.optional(),
    time: z.strictObject({ created: time, completed: time.optional() }).optional(),
  }),
  z.strictObject({
    type: z.literal('tool'),
    id: z.string().meta({ description: 'Tool call' }),
    name: z.string(),
    executed: z.boolean().optional().meta({ description: 'Whether the provider ran it' }),
    providerState: providerData.optional(),
    providerResultState: providerData.optional(),
    state: toolState,
    time: z.strictObject({ created: time, ran: time.optional(), completed: time.optional() }),
  }),
])

/** A step. */
export const assistant = z.strictObject({
  ...noted,
  type: z.literal('assistant'),
  time: z.strictObject({ created: time, streamed: time.optional(), completed: time.optional() }),
  agent: z.string(),
  model: modelRef,
  content: z.array(assistantPart),
  snapshot: z
    .strictObject({ start: z.string().optional(), end: z.string().optional(), files: z.array(z.string()).optional() })
    .optional(),
  providerState: providerData.optional(),
  finish: finish.optional(),
  rawFinish: z.string().optional(),
  cost: cost.optional(),
  tokens: tokenUsage.optional(),
  error: structuredError.optional(),
  retry: retry.optional(),
})

/** A command that a user ran. */
export const shell = z.strictObject({
  ...noted,
  type: z.literal('shell'),
  time: z.strictObject({ created: time, completed: time.optional() }),
  shellID: z.string(),
  command: z.string(),
  status: z.enum(['running', 'exited', 'timeout', 'killed']),
  exit: z.int().min(-2_147_483_648).max(2_147_483_647).optional(),
  output: z
    .strictObject({ output: z.string(), cursor: z.int().min(0), size: z.int().min(0), truncated: z.boolean() })
    .optional(),
})

const summed = { ...noted, type: z.literal('compaction'), reason: z.enum(['auto', 'manual']) }
const spent = { cost: cost.optional(), tokens: tokenUsage.optional() }

/** The conversation up to here, summed up. */
export const compaction = z.discriminatedUnion('status', [
  z.strictObject({ ...summed, status: z.literal('running'), summary: z.string(), recent: z.string() }),
  z.strictObject({
    ...summed,
    status: z.literal('completed'),
    summary: z.string(),
    recent: z.string(),
    model: modelRef.optional(),
    providerState: providerData.optional(),
    providerContext: freeObject('What a provider made of the conversation to go on with.').optional(),
    ...spent,
  }),
  z.strictObject({ ...summed, status: z.literal('failed'), error: structuredError, ...spent }),
])
