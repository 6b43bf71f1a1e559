import { create } from '@bufbuild/protobuf'
import { type Usage, UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { countAt, objectAt } from '../http/json.ts'

/** Usage as responses report it; undefined if one of the numbers is missing. */
export function responsesUsage(usage: JsonObject): Usage | undefined {
  const inputTokens = countAt(usage.input_tokens)
  const outputTokens = countAt(usage.output_tokens)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  const input = objectAt(usage.input_tokens_details)
  return create(UsageSchema, {
    inputTokens,
    outputTokens,
    cacheReadTokens: countAt(input?.cached_tokens) ?? 0n,
    cacheWriteTokens: countAt(input?.cache_write_tokens) ?? 0n,
    reasoningTokens: countAt(objectAt(usage.output_tokens_details)?.reasoning_tokens) ?? 0n,
  })
}
