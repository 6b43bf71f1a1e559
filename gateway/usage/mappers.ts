import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type Activity,
  type GenerationRecord,
  GenerationRecord_Status,
} from '#gen/portico/inference/v1/usage_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import { workspaceUuid } from '#shared/workspace-uuid.ts'
import { memberName } from '../generation/public-field.ts'
import type { JsonOf } from '../kinds.ts'
import { fromCost } from '../records/usage.ts'
import type { activityItem, generationRecord } from './schemas.ts'

type Record = JsonOf<typeof generationRecord>

const statuses = enumTable<Record['status'], GenerationRecord_Status>({
  completed: GenerationRecord_Status.COMPLETED,
  failed: GenerationRecord_Status.FAILED,
  aborted: GenerationRecord_Status.ABORTED,
})

const finishes = enumTable<Exclude<Record['finish_reason'], 'error' | null>, FinishReason>({
  stop: FinishReason.STOP,
  length: FinishReason.LENGTH,
  tool_calls: FinishReason.TOOL_CALLS,
  content_filter: FinishReason.CONTENT_FILTER,
})

export function fromGenerationRecord(record: GenerationRecord | undefined): Record {
  if (record === undefined) throw new Error('The inference service returned no generation')
  const { providerId, modelId, usage, attribution, createTime, finishTime, firstPartMs } = record
  const status = statuses.fromProto(record.status) ?? 'aborted'
  const cost = fromCost(record.costNanos)
  const tokens = (count: bigint | undefined) => (count === undefined ? null : Number(count))
  return {
    id: record.requestId,
    created_at: new Date(createTime).toISOString(),
    status,
    error: record.error ?? null,
    model: `${providerId}/${modelId}`,
    provider_name: providerId,
    origin: record.origin,
    streamed: record.streamed,
    cancelled: status === 'aborted',
    finish_reason: status === 'failed' ? 'error' : (finishes.fromProto(record.finishReason ?? 0) ?? null),
    native_finish_reason: record.rawReason ?? null,
    tokens_prompt: tokens(usage?.inputTokens),
    tokens_completion: tokens(usage?.outputTokens),
    native_tokens_prompt: tokens(usage?.inputTokens),
    native_tokens_completion: tokens(usage?.outputTokens),
    native_tokens_reasoning: tokens(usage?.reasoningTokens),
    native_tokens_cached: tokens(usage?.cacheReadTokens),
    native_tokens_cache_write: tokens(usage?.cacheWriteTokens),
    estimated: usage?.estimated ?? false,
    total_cost: cost,
    usage: cost,
    cost_known: record.costKnown,
    latency: firstPartMs ?? null,
    generation_time: Math.max(0, (finishTime ?? createTime) - createTime),
    service_tier: record.serviceTier ?? null,
    session_id: record.sessionId ?? null,
    external_user: record.user ?? null,
    http_referer: attribution?.referer ?? null,
    app_title: attribution?.title ?? null,
    app_categories: attribution?.categories ?? null,
    user_agent: attribution?.userAgent ?? null,
    metadata: record.metadata,
    not_applied: [...new Set(record.leftOut.map((field) => memberName(record.origin, field)))],
    preset_id: record.preset?.presetId ?? null,
    api_key_id: record.apiKeyId ?? null,
    workspace_id: workspaceUuid(record.workspaceId),
    api_type: 'completions',
    data_region: 'global',
    is_byok: false,
    ...NOTHING,
  }
}

/** Members of OpenRouter that have no meaning here. */
const NOTHING = {
  native_tokens_completion_images: null,
  upstream_inference_cost: null,
  cache_discount: null,
  moderation_latency: null,
  app_id: null,
  router: null,
  request_id: null,
  upstream_id: null,
  provider_responses: null,
  web_search_engine: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_completion: null,
  num_media_prompt: null,
  num_search_results: null,
}

/** `grouped`: the sums are also grouped by the value of some metadata. */
export function fromActivity(activity: Activity, grouped: boolean): JsonOf<typeof activityItem> {
  const { date, providerId, modelId, metadataValue, requestCount, usage, costNanos } = activity
  const model = `${providerId}/${modelId}`
  return {
    date,
    model,
    model_permaslug: model,
    endpoint_id: model,
    provider_name: providerId,
    usage: fromCost(costNanos),
    byok_usage_inference: 0,
    requests: requestCount,
    prompt_tokens: Number(usage?.inputTokens ?? 0n),
    completion_tokens: Number(usage?.outputTokens ?? 0n),
    reasoning_tokens: Number(usage?.reasoningTokens ?? 0n),
    cached_tokens: Number(usage?.cacheReadTokens ?? 0n),
    cache_write_tokens: Number(usage?.cacheWriteTokens ?? 0n),
    metadata_value: grouped ? (metadataValue ?? null) : undefined,
  }
}
