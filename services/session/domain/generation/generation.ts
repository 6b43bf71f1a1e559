import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Agent, ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  FinishReason,
  type GenerationRequest,
  GenerationRequestSchema,
  type Message,
  MessageSchema,
  type Part,
  type PartSchema,
  type Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationFinished } from '#gen/portico/inference/v1/inference_service_pb.js'
import { TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { Finish } from '../message.ts'
import { shownThought } from './thought.ts'

/** Words for a variant that mean how hard the model should think; other variants are the provider's default. */
const EFFORTS = new Set(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])

/** The longest time that a message can express: 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

type RequestInit = Exclude<MessageInitShape<typeof GenerationRequestSchema>, GenerationRequest>

/** A call of a model, with what an agent wants of its provider. */
export function generationRequest(
  { requestHeaders, requestBody, requestSettings }: Agent,
  model: ModelRef,
  init: RequestInit & { readonly origin: 'session' | 'title' | 'compaction' },
): GenerationRequest {
  return create(GenerationRequestSchema, {
    ...init,
    model: modelName(model),
    reasoning: EFFORTS.has(model.variant ?? '') ? { effort: model.variant } : undefined,
    providerHeaders: requestHeaders,
    providerBody: requestBody,
    providerTimeouts: toTimeouts(requestSettings),
  })
}

/** The time limits in the settings of an agent's requests; `false` means the limits of the inference service. */
function toTimeouts({ timeout, headerTimeout, chunkTimeout }: JsonObject = {}): RequestInit['providerTimeouts'] {
  const limit = (value: unknown) =>
    typeof value === 'number' && value > 0 ? Math.min(Math.ceil(value), MAX_TIMEOUT_MS) : undefined
  return { totalMs: limit(timeout), headersMs: limit(headerTimeout), chunkMs: limit(chunkTimeout) }
}

export function modelName({ providerId, modelId }: ModelRef): string {
  return `${providerId}/${modelId}`
}

/** The content of a part, with only the members that are given. */
export type ContentInit = NonNullable<Exclude<MessageInitShape<typeof PartSchema>, Part>['part']>

/** One turn of the conversation as a model is shown it. */
export function turn(role: Role, ...contents: readonly ContentInit[]): Message {
  return create(MessageSchema, { role, parts: contents.map((part) => ({ part })) })
}

/** A text that a model is shown. */
export function textContent(text: string): ContentInit {
  return { case: 'text', value: { text } }
}

/** The text of a part of an answer, as it is shown; of a tool call, the arguments. */
export function textOf({ part }: Part): string {
  switch (part.case) {
    case 'text':
    case 'refusal':
      return part.value.text
    case 'toolCall':
      return part.value.arguments
    case 'reasoning':
      return shownThought(part.value)
    default:
      return ''
  }
}

/** Why a provider ended its answer. */
export function finishOf({ reason }: GenerationFinished): Finish {
  return FINISHES[reason] ?? 'unknown'
}

const FINISHES: Readonly<Record<FinishReason, Finish>> = {
  [FinishReason.UNSPECIFIED]: 'unknown',
  [FinishReason.STOP]: 'stop',
  [FinishReason.LENGTH]: 'length',
  [FinishReason.TOOL_CALLS]: 'tool-calls',
  [FinishReason.CONTENT_FILTER]: 'content-filter',
  [FinishReason.OTHER]: 'unknown',
}

/** What a generation used, by kinds that do not overlap. */
export function usageOf({ usage, costNanos }: GenerationFinished) {
  const count = (tokens: bigint | undefined): number => Number(tokens ?? 0n)
  const cacheRead = count(usage?.cacheReadTokens)
  const cacheWrite = count(usage?.cacheWriteTokens)
  const reasoning = count(usage?.reasoningTokens)
  return {
    costNanos,
    // A provider that reports more of a kind than of all kinds together must not make a number negative.
    tokens: create(TokenUsageSchema, {
      input: Math.max(0, count(usage?.inputTokens) - cacheRead - cacheWrite),
      output: Math.max(0, count(usage?.outputTokens) - reasoning),
      reasoning,
      cacheRead,
      cacheWrite,
    }),
  }
}
