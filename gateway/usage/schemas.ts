import { z } from 'zod'
import { GetGenerationRequestSchema, ListActivityRequestSchema } from '#gen/portico/inference/v1/usage_service_pb.js'
import { workspaceId } from '../records/ids.ts'
import { cost } from '../records/usage.ts'
import { limitedBy } from '../shape.ts'

const count = z.int().min(0)
const text = z.string().nullable()
/** What OpenRouter has and Portico does not. */
const none = z.null()

export const generationQuery = z.object({
  id: limitedBy(GetGenerationRequestSchema.field.requestId, z.string().min(1)).meta({
    description: 'From the header X-Generation-Id, or the id of a chat completion',
  }),
})

export const activityQuery = z.object({
  date: z.iso
    .date()
    .optional()
    .meta({ description: 'One of the last 30 UTC days; default: all of them, including today' }),
  api_key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the hash of a key')
    .optional()
    .meta({ description: 'Only the usage of this key' }),
  metadata_key: limitedBy(ListActivityRequestSchema.field.metadataKey, z.string().min(1))
    .optional()
    .meta({ description: 'Also groups by the value of this metadata of requests' }),
})

/** What was used of a model on a day. */
export const activityItem = z
  .strictObject({
    date: z.iso.date().meta({ description: 'UTC day on which the requests ended' }),
    model: z.string(),
    model_permaslug: z.string(),
    endpoint_id: z.string(),
    provider_name: z.string(),
    usage: cost,
    byok_usage_inference: z.number(),
    requests: count,
    prompt_tokens: count,
    completion_tokens: count,
    reasoning_tokens: count,
    cached_tokens: count,
    cache_write_tokens: count,
    metadata_value: text.optional().meta({ description: 'With `metadata_key`; null: requests without it' }),
  })
  .meta({ id: 'Activity' })

export const generationRecord = z
  .strictObject({
    id: z.string(),
    created_at: z.iso.datetime(),
    status: z.enum(['completed', 'failed', 'aborted']),
    error: text.meta({ description: 'Why it failed' }),
    model: z.string(),
    provider_name: z.string(),
    origin: z.string().meta({ description: 'The interface that it came by' }),
    streamed: z.boolean(),
    cancelled: z.boolean(),
    finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'error']).nullable(),
    native_finish_reason: text,
    tokens_prompt: count.nullable(),
    tokens_completion: count.nullable(),
    native_tokens_prompt: count.nullable(),
    native_tokens_completion: count.nullable(),
    native_tokens_reasoning: count.nullable(),
    native_tokens_cached: count.nullable(),
    native_tokens_cache_write: count.nullable(),
    native_tokens_completion_images: none,
    estimated: z
      .boolean()
      .meta({ description: 'The tokens are an estimate, because the answer broke off or they were not reported' }),
    total_cost: cost,
    usage: cost,
    cost_known: z
      .boolean()
      .meta({ description: 'Otherwise the costs are an estimate, or 0 if there is no price at all' }),
    upstream_inference_cost: none,
    cache_discount: none,
    latency: count.nullable().meta({ description: 'Milliseconds until the first part of the answer' }),
    generation_time: count.meta({ description: 'Milliseconds until its end' }),
    moderation_latency: none,
    service_tier: text.meta({ description: 'The tier that served it' }),
    session_id: text,
    external_user: text,
    http_referer: text,
    app_title: text,
    app_categories: text,
    user_agent: text,
    app_id: none,
    metadata: z.record(z.string(), z.string()),
    not_applied: z.array(z.string()).meta({
      description:
        'Members that did not reach the model as they were meant; of conversation and tools without the place',
    }),
    preset_id: text,
    api_key_id: text,
    workspace_id: workspaceId,
    api_type: z.literal('completions'),
    data_region: z.literal('global'),
    is_byok: z.literal(false),
    router: none,
    request_id: none,
    upstream_id: none,
    provider_responses: none,
    web_search_engine: none,
    num_fetches: none,
    num_input_audio_prompt: none,
    num_media_completion: none,
    num_media_prompt: none,
    num_search_results: none,
  })
  .meta({ id: 'GenerationRecord' })

/** What a workspace may spend, and has spent. */
export const credits = z
  .strictObject({
    total_credits: z.number().meta({ description: 'US dollars that all keys together may spend; 0: no limit' }),
    total_usage: cost,
  })
  .meta({ id: 'Credits' })
