import { z } from 'zod'
import { routerMetadata } from '../records/router-metadata.ts'
import { extras, failure, finishReason, logprobs, usage } from './completion.ts'

const toolCallDelta = z.strictObject({
  index: z.int(),
  id: z.string().optional(),
  type: z.enum(['function', 'custom']).optional(),
  function: z.strictObject({ name: z.string().optional(), arguments: z.string() }).optional(),
  custom: z.strictObject({ name: z.string().optional(), input: z.string() }).optional(),
})

const delta = z.strictObject({
  role: z.literal('assistant').optional(),
  content: z.string().optional(),
  refusal: z.string().optional(),
  reasoning: z.string().optional(),
  tool_calls: z.array(toolCallDelta).optional(),
  ...extras,
})

/**
 * A chunk of a chat completion. It has no `system_fingerprint`: clients refuse one that is null. Usage comes once, in
 * the last chunk, which has no choice; an error comes once, in the last chunk, whose choice has ended with it.
 */
export const chatChunk = z
  .strictObject({
    id: z.string().regex(/^gen-/),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    provider: z.string().optional(),
    service_tier: z.string().optional(),
    choices: z
      .array(
        z.strictObject({
          index: z.literal(0),
          delta,
          finish_reason: finishReason.nullable(),
          native_finish_reason: z.string().nullable(),
          logprobs: logprobs.nullable(),
        }),
      )
      .max(1),
    usage: usage.optional(),
    openrouter_metadata: routerMetadata.optional(),
    error: failure.optional(),
  })
  .meta({ id: 'ChatCompletionChunk' })

export type ChatChunk = z.output<typeof chatChunk>
export type ChatDelta = z.output<typeof delta>
