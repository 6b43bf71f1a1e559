import { create } from '@bufbuild/protobuf'
import { type Usage, UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { countAt, objectAt } from '../http/json.ts'

/** Usage as chat completions report it; undefined if one of the numbers is missing. */
export function openaiUsage(usage: JsonObject): Usage | undefined {
  const inputTokens = countAt(usage.prompt_tokens)
  const outputTokens = countAt(usage.completion_tokens)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const input = objectAt(usage.prompt_tokens_details)
  const output = objectAt(usage.completion_tokens_details)
  return create(UsageSchema, {
    inputTokens,
    outputTokens,
    // DeepSeek reports its cache hits outside of the details.
    cacheReadTokens: countAt(input?.cached_tokens) ?? countAt(usage.prompt_cache_hit_tokens) ?? 0n,
    cacheWriteTokens: countAt(input?.cache_write_tokens) ?? 0n,
    reasoningTokens: countAt(output?.reasoning_tokens) ?? 0n,
  })
}
