import { FinishReason, type Generation } from '#gen/portico/inference/v1/inference_pb.js'
import type { RouterMetadata } from '../records/router-metadata.ts'
import { fromCost } from '../records/usage.ts'
import type { ChatCompletion, ChatFinishReason, ChatLogprobs, ChatMessage, ChatUsage } from './completion.ts'
import type { ChatFailure } from './failure.ts'
import {
  fromCall,
  fromCallProof,
  fromFile,
  fromForeign,
  fromImage,
  fromLogProbabilities,
  fromSources,
  fromThought,
} from './from-part.ts'

/** What is known of a completion from the start. */
export interface ChatSeed {
  /** `gen-…` */
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  /** The requested model, until it is known which one answers. */
  readonly model: string
  /** Describes how the answer was made; undefined: the client does not want that. */
  readonly describe: ((served: Served) => RouterMetadata) | undefined
}

export type Served = Pick<Generation, 'model' | 'providerId' | 'warnings' | 'preset' | 'endpointCount'>

export function fromGeneration(seed: ChatSeed, generation: Generation): ChatCompletion {
  const { model, providerId, serviceTier, reason, rawReason } = generation
  const usage = fromUsage(generation)
  return {
    id: seed.id,
    object: 'chat.completion',
    created: seed.created,
    model,
    provider: providerId,
    system_fingerprint: null,
    service_tier: serviceTier ?? null,
    choices: [
      {
        index: 0,
        finish_reason: fromReason(reason),
        native_finish_reason: rawReason ?? null,
        logprobs: logprobsOf(generation),
        message: messageOf(generation),
      },
    ],
    usage,
    openrouter_metadata: seed.describe?.(generation),
  }
}

/**
 * A generation that failed after something was sent: the error beside a choice that ended with one, since clients look
 * for choices in whatever has the status 200.
 */
export function failedCompletion({ id, created, model }: ChatSeed, failure: ChatFailure): ChatCompletion {
  const message = { role: 'assistant', content: '', refusal: null, reasoning: null } as const
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    system_fingerprint: null,
    service_tier: null,
    choices: [
      { index: 0, finish_reason: 'error', native_finish_reason: null, logprobs: null, message, error: failure.error },
    ],
    ...failure,
  }
}

function messageOf({ parts, sources }: Generation): ChatMessage {
  const words: { content?: string; refusal?: string; reasoning?: string } = {}
  const texts = new Map<number, { from: number; to: number }>()
  const calls: NonNullable<ChatMessage['tool_calls']> = []
  const details: NonNullable<ChatMessage['reasoning_details']> = []
  const images: NonNullable<ChatMessage['images']> = []
  const files: NonNullable<ChatMessage['files']> = []
  let thoughts = 0
  const say = (name: keyof typeof words, text: string): void => {
    words[name] = (words[name] ?? '') + text
  }
  for (const [i, { part }] of parts.entries()) {
    switch (part.case) {
      case 'text': {
        const from = words.content?.length ?? 0
        say('content', part.value.text)
        texts.set(i, { from, to: from + part.value.text.length })
        break
      }
      case 'refusal':
        say('refusal', part.value.text)
        break
      case 'reasoning': {
        const thought = (part.value.summary ?? '') + (part.value.text ?? '')
        if (thought !== '') say('reasoning', thought)
        details.push(...fromThought(part.value, thoughts++))
        break
      }
      case 'toolCall':
        calls.push(fromCall(part.value))
        details.push(...fromCallProof(part.value, thoughts))
        if (part.value.signature) thoughts++
        break
      case 'foreign':
        details.push(...fromForeign(part.value, thoughts++))
        break
      case 'image': {
        const image = fromImage(part.value, images.length)
        if (image !== undefined) images.push(image)
        break
      }
      case 'file': {
        const file = fromFile(part.value)
        if (file !== undefined) files.push(file)
        break
      }
      default:
        throw new Error(`A part "${part.case}" cannot be represented in a chat completion`)
    }
  }
  const annotations = fromSources(sources, texts)
  return {
    role: 'assistant',
    content: words.content ?? null,
    refusal: words.refusal ?? null,
    reasoning: words.reasoning ?? null,
    reasoning_details: orNone(details),
    tool_calls: orNone(calls),
    images: orNone(images),
    files: orNone(files),
    annotations: orNone(annotations),
  }
}

function orNone<T>(list: T[]): T[] | undefined {
  return list.length === 0 ? undefined : list
}

function logprobsOf({ parts, logProbabilities }: Generation): ChatLogprobs | null {
  const of = (kind: 'text' | 'refusal') => {
    const tokens = parts.flatMap(({ part }, i) => (part.case === kind ? (logProbabilities[i]?.tokens ?? []) : []))
    return tokens.length === 0 ? null : fromLogProbabilities(tokens)
  }
  const logprobs = { content: of('text'), refusal: of('refusal') }
  return logprobs.content === null && logprobs.refusal === null ? null : logprobs
}

const REASONS: { readonly [reason in FinishReason]?: ChatFinishReason } = {
  [FinishReason.LENGTH]: 'length',
  [FinishReason.TOOL_CALLS]: 'tool_calls',
  [FinishReason.CONTENT_FILTER]: 'content_filter',
}

/** Why a generation ended; an unknown reason counts as a normal end. */
export function fromReason(reason: FinishReason): ChatFinishReason {
  return REASONS[reason] ?? 'stop'
}

/** What was used, and what it cost in dollars where that is known; undefined when the provider did not say. */
export function fromUsage({
  usage,
  costKnown,
  costNanos,
  outputCostNanos,
}: Pick<Generation, 'usage' | 'costKnown' | 'costNanos' | 'outputCostNanos'>): ChatUsage | undefined {
  if (usage === undefined) return undefined
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    prompt_tokens: Number(inputTokens),
    completion_tokens: Number(outputTokens),
    total_tokens: Number(inputTokens + outputTokens),
    prompt_tokens_details: { cached_tokens: Number(cacheReadTokens), cache_write_tokens: Number(cacheWriteTokens) },
    completion_tokens_details: { reasoning_tokens: Number(reasoningTokens) },
    is_byok: false,
    cost: costKnown ? fromCost(costNanos) : undefined,
    cost_details: costKnown
      ? {
          upstream_inference_cost: null,
          upstream_inference_prompt_cost: fromCost(costNanos - outputCostNanos),
          upstream_inference_completions_cost: fromCost(outputCostNanos),
        }
      : undefined,
  }
}
