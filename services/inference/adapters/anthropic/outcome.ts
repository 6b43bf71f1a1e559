import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { textAt } from '../http/json.ts'
import { rejectionForStatus } from '../http/provider-errors.ts'

const REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    end_turn: FinishReason.STOP,
    stop_sequence: FinishReason.STOP,
    max_tokens: FinishReason.LENGTH,
    model_context_window_exceeded: FinishReason.LENGTH,
    tool_use: FinishReason.TOOL_CALLS,
    refusal: FinishReason.CONTENT_FILTER,
  }),
)

const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries<number>({
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    timeout_error: 504,
    overloaded_error: 529,
  }),
)

/** Converts the API's stop reason. */
export function reasonOf(word: string): FinishReason {
  return REASONS.get(word) ?? FinishReason.OTHER
}

/** Converts an error of the API. */
export function failureOf(providerId: string, error: JsonObject | undefined): Error {
  const code = textAt(error?.type)
  const status = STATUSES.get(code) ?? 500
  return rejectionForStatus(providerId, status, textAt(error?.message) || 'It broke off with an error', { code })
}
