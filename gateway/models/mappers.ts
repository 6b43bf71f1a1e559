import type { Model, Pricing, Provider } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonOf } from '../kinds.ts'
import type { model, modelEndpoints, modelPage, provider, retrievedModel } from './schemas.ts'

const UNKNOWN = '-1'
/** Of nano-dollars for a million tokens, as dollars for one. */
const DIGITS = 15

/** Nano-dollars for a million tokens, as dollars for one. */
function perToken(nanos: bigint): string {
  const digits = nanos.toString().padStart(DIGITS + 1, '0')
  return `${digits.slice(0, -DIGITS)}.${digits.slice(-DIGITS)}`.replace(/\.?0+$/, '')
}

function fromPricing(pricing: Pricing | undefined) {
  if (pricing === undefined) {
    return { prompt: UNKNOWN, completion: UNKNOWN, input_cache_read: UNKNOWN, input_cache_write: UNKNOWN }
  }
  const overrides = pricing.long.map(({ aboveTokens, pricing: long = pricing }) => ({
    min_prompt_tokens: Number(aboveTokens) + 1,
    ...pricesOf(long),
  }))
  return { ...pricesOf(pricing), overrides: overrides.length > 0 ? overrides : undefined }
}

function pricesOf(pricing: Pricing) {
  return {
    prompt: perToken(pricing.inputNanos),
    completion: perToken(pricing.outputNanos),
    input_cache_read: perToken(pricing.cacheReadNanos),
    input_cache_write: perToken(pricing.cacheWriteNanos),
  }
}

function architectureOf({ inputModalities, outputModalities }: Model): JsonOf<typeof model>['architecture'] {
  return {
    modality: `${inputModalities.join('+')}->${outputModalities.join('+')}`,
    input_modalities: inputModalities,
    output_modalities: outputModalities,
    tokenizer: 'Other',
    instruct_type: null,
  }
}

export function fromModel(record: Model): JsonOf<typeof model> {
  const context = record.contextLength ?? null
  const slash = record.name.indexOf('/')
  const { name } = record
  const path = `${encodeURIComponent(name.slice(0, slash))}/${encodeURIComponent(name.slice(slash + 1))}`
  return {
    id: name,
    canonical_slug: name,
    name: record.displayName,
    description: record.description ?? '',
    created: 0,
    context_length: context,
    architecture: architectureOf(record),
    pricing: fromPricing(record.pricing),
    top_provider: {
      context_length: context,
      max_completion_tokens: record.outputLimit ?? null,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: record.supportedParameters,
    default_parameters: null,
    supported_voices: null,
    links: { details: `/api/v1/models/${path}/endpoints` },
  }
}

/** A model as the clients of each dialect look for it. */
export function fromRetrieved(record: Model): JsonOf<typeof retrievedModel> {
  return {
    id: record.name,
    object: 'model',
    created: 0,
    owned_by: record.providerId,
    type: 'model',
    display_name: record.displayName,
    created_at: '1970-01-01T00:00:00Z',
    data: fromModel(record),
  }
}

/** A page of models; `next` is the path of the one that follows. */
export function fromPage(page: {
  readonly models: readonly Model[]
  readonly next: string | null
  readonly total: number
}): JsonOf<typeof modelPage> {
  return { data: page.models.map(fromModel), links: { next: page.next }, total_count: page.total }
}

export function fromEndpoints(record: Model): JsonOf<typeof modelEndpoints> {
  const { name, providerId, displayName, supportedParameters, quantization } = record
  const endpoint = {
    name: `${providerId} | ${name}`,
    model_id: name,
    model_name: displayName,
    provider_name: providerId,
    tag: providerId,
    context_length: record.contextLength ?? 0,
    max_completion_tokens: record.outputLimit ?? null,
    max_prompt_tokens: null,
    pricing: fromPricing(record.pricing),
    quantization,
    supported_parameters: supportedParameters,
    status: 0,
    supports_implicit_caching: false,
    supports_voice_cloning: false,
    supports_tool_choice: { auto: true, none: true, required: true, function: true },
    latency_last_30m: null,
    throughput_last_30m: null,
    uptime_last_5m: null,
    uptime_last_30m: null,
    uptime_last_1d: null,
  } as const
  return {
    id: name,
    name: displayName,
    created: 0,
    description: record.description ?? '',
    architecture: architectureOf(record),
    endpoints: [endpoint],
  }
}

export function fromProvider({ providerId }: Provider): JsonOf<typeof provider> {
  return {
    name: providerId,
    slug: providerId,
    privacy_policy_url: null,
    terms_of_service_url: null,
    status_page_url: null,
    headquarters: null,
    datacenters: null,
  }
}
