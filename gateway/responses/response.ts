import { z } from 'zod'
import { costMembers } from '../generation/cost.ts'
import { efforts, summaries, verbosity } from '../generation/settings.ts'
import { routerMetadata } from '../records/router-metadata.ts'
import { freeObject } from '../shape.ts'
import { outputItem } from './output.ts'
import { format, toolChoice } from './tools.ts'

const seconds = z.int()
const count = z.int()

/** What was used, and what it cost in dollars. */
export const usage = z
  .strictObject({
    input_tokens: count,
    input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.strictObject({ reasoning_tokens: count }),
    total_tokens: count,
    is_byok: z.literal(false),
    ...costMembers,
  })
  .meta({ id: 'Response.Usage' })

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: freeObject('A JSON Schema, as given in the request.').nullable(),
  strict: z.boolean().nullable(),
  defer_loading: z.boolean().optional(),
})
const otherTool = z
  .looseObject({ type: z.string().regex(/^(?!function$)/) })
  .meta({ description: 'Any other tool, as given in the request.' })
const tool = z.union([functionTool, otherTool])

export const failed = { error: z.strictObject({ code: z.string(), message: z.string() }), error_type: z.string() }

export const incompleteDetails = z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) })

/** What a response says of its request. */
export const echo = z.strictObject({
  instructions: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  parallel_tool_calls: z.boolean(),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  tool_choice: toolChoice,
  tools: z.array(tool),
  text: z.strictObject({ format, verbosity: verbosity.optional() }),
  truncation: z.enum(['auto', 'disabled']),
  reasoning: z.strictObject({ effort: efforts.nullable(), summary: summaries.nullable() }).nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.int().nullable(),
  previous_response_id: z.null(),
  store: z.literal(false),
  background: z.literal(false),
  service_tier: z.string(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  user: z.string().nullable(),
  prompt: z.null(),
})

/** A response, with every member that it has. */
export const responseObject = z
  .strictObject({
    id: z.string().regex(/^resp_/),
    object: z.literal('response'),
    created_at: seconds,
    model: z.string(),
    output: z.array(outputItem),
    output_text: z.string(),
    status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
    completed_at: seconds.nullable(),
    error: failed.error.nullable(),
    error_type: failed.error_type.optional(),
    incomplete_details: incompleteDetails.nullable(),
    usage: usage.nullable(),
    openrouter_metadata: routerMetadata.optional(),
    ...echo.shape,
  })
  .meta({ id: 'Response' })

export type Echo = z.output<typeof echo>
export type ResponseObject = z.output<typeof responseObject>
export type Usage = z.output<typeof usage>
