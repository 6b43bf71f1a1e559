import { z } from 'zod'

/** US dollars per token, in decimal digits; -1: unknown. */
const price = z.string().meta({ description: 'US dollars per token, in decimal digits; -1: unknown' })

const prices = { prompt: price, completion: price, input_cache_read: price, input_cache_write: price }

const pricing = z.strictObject({
  ...prices,
  overrides: z
    .array(z.strictObject({ min_prompt_tokens: z.int(), ...prices }))
    .optional()
    .meta({ description: 'Prices of all tokens of a request with a longer input' }),
})

const architecture = {
  modality: z.string().meta({ description: '`text+image->text`' }),
  input_modalities: z.array(z.string()),
  output_modalities: z.array(z.string()),
  tokenizer: z.literal('Other'),
  instruct_type: z.null(),
}

const tokens = z.int().nullable().meta({ description: 'Null: unknown' })

/** A model, as clients of OpenRouter know it. */
export const model = z
  .strictObject({
    id: z.string().meta({ description: '`provider/model`' }),
    canonical_slug: z.string(),
    name: z.string(),
    description: z.string(),
    created: z.literal(0).meta({ description: 'Not known' }),
    context_length: tokens,
    architecture: z.strictObject(architecture),
    pricing,
    top_provider: z.strictObject({
      context_length: tokens,
      max_completion_tokens: tokens,
      is_moderated: z.literal(false),
    }),
    per_request_limits: z.null(),
    supported_parameters: z.array(z.string()),
    default_parameters: z.null(),
    supported_voices: z.null(),
    links: z.strictObject({ details: z.string().meta({ description: 'Path of its endpoints' }) }),
  })
  .meta({ id: 'GatewayModel' })

/** A model as clients of OpenAI and of Anthropic look for it, and in `data` as those of OpenRouter do. */
export const retrievedModel = z.strictObject({
  id: model.shape.id,
  object: z.literal('model'),
  created: model.shape.created,
  owned_by: z.string().meta({ description: 'Its provider' }),
  type: z.literal('model'),
  display_name: z.string(),
  created_at: z.literal('1970-01-01T00:00:00Z').meta({ description: 'Not known' }),
  data: model,
})

export const modelPage = z.strictObject({
  data: z.array(model),
  links: z.strictObject({ next: z.string().nullable().meta({ description: 'Path of the next page' }) }),
  total_count: z.int(),
})

const endpoint = z
  .strictObject({
    name: z.string(),
    model_id: z.string(),
    model_name: z.string(),
    provider_name: z.string(),
    tag: z.string().meta({ description: 'As in `provider.only`' }),
    context_length: z.int().meta({ description: '0: unknown' }),
    max_completion_tokens: tokens,
    max_prompt_tokens: z.null(),
    pricing,
    quantization: z.string(),
    status: z.literal(0),
    supported_parameters: z.array(z.string()),
    supports_implicit_caching: z.literal(false),
    supports_tool_choice: z.strictObject({
      auto: z.literal(true),
      none: z.literal(true),
      required: z.literal(true),
      function: z.literal(true),
    }),
    supports_voice_cloning: z.literal(false),
    latency_last_30m: z.null(),
    throughput_last_30m: z.null(),
    uptime_last_5m: z.null(),
    uptime_last_30m: z.null(),
    uptime_last_1d: z.null(),
  })
  .meta({ id: 'ModelEndpoint' })

export const modelEndpoints = z.strictObject({
  id: z.string(),
  name: z.string(),
  created: z.literal(0),
  description: z.string(),
  architecture: z.strictObject(architecture),
  endpoints: z.array(endpoint),
})

/** A provider, as clients of OpenRouter know it; what only its maker knows is null. */
export const provider = z
  .strictObject({
    name: z.string(),
    slug: z.string(),
    privacy_policy_url: z.null(),
    terms_of_service_url: z.null(),
    status_page_url: z.null(),
    headquarters: z.null(),
    datacenters: z.null(),
  })
  .meta({ id: 'GatewayProvider' })

const count = (least: number, most: number) =>
  z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most, {
      error: `must be an integer from ${least} to ${most}`,
    })
    .optional()
const dollars = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,12})?$/, 'must be an amount of US dollars')
  .optional()
const list = z.string().optional().meta({ description: 'Separated by commas' })

const pageQuery = {
  offset: count(0, 999_999_999).meta({ description: 'How many to skip; default: 0' }),
  limit: count(1, 1_000).meta({ description: 'Maximum number; default: 500' }),
}

export const outputQuery = z.object({ output_modalities: list })

export const userQuery = z.object({ ...pageQuery, output_modalities: list })

/** Query of models.list; members for which nothing is known here are ignored. */
export const modelsQuery = z.object({
  ...pageQuery,
  q: z.string().optional().meta({ description: 'Part of the id or the name, ignoring case' }),
  supported_parameters: list,
  input_modalities: list,
  output_modalities: list,
  model_authors: list,
  providers: list,
  context: count(0, 999_999_999).meta({ description: 'Minimum number of tokens' }),
  min_price: dollars.meta({ description: 'US dollars per million input tokens' }),
  max_price: dollars,
  min_output_price: dollars.meta({ description: 'US dollars per million output tokens' }),
  max_output_price: dollars,
  zdr: z.enum(['true', 'false']).optional().meta({ description: '`true`: only models whose provider retains no data' }),
  distillable: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Only models on whose output others may be trained, or only the others' }),
  sort: z.string().optional().meta({
    description:
      '`pricing-low-to-high`, `pricing-high-to-low`, `context-high-to-low`; by anything else, the order of the configuration',
  }),
})

export type ModelsQuery = z.output<typeof modelsQuery>
