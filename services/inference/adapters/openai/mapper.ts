import { create } from '@bufbuild/protobuf'
import { FinishReason, type Usage, UsageSchema, type Warning } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { ProviderEvent } from '#services/inference/domain/generation.ts'
import { PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { countAt, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { jsonObject, type ProviderMapper } from '../http/provider-call.ts'
import { unavailable } from '../http/provider-errors.ts'
import { reportedCost } from './cost.ts'
import { OpenaiDeltas } from './deltas.ts'
import { openaiError } from './error.ts'
import { DeltaTemplate } from './template.ts'
import { OpenaiToolCalls } from './tool-calls.ts'

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', FinishReason.STOP],
  ['length', FinishReason.LENGTH],
  ['tool_calls', FinishReason.TOOL_CALLS],
  ['function_call', FinishReason.TOOL_CALLS],
  ['content_filter', FinishReason.CONTENT_FILTER],
])

/**
 * Converts a chat completion, whole or streamed, to events; a whole message is one delta. Unknown members are ignored.
 */
export class OpenaiMapper implements ProviderMapper {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #calls: OpenaiToolCalls
  readonly #deltas: OpenaiDeltas
  readonly #template = new DeltaTemplate('content')
  /** Index of the choice that is read; undefined: none has come. */
  #index: number | undefined
  #reason = ''
  #rawReason = ''
  #stopText: string | undefined
  #serviceTier: string | undefined
  done = false

  constructor(providerId: string, warnings: readonly Warning[], flat = new FlatTools([])) {
    this.#providerId = providerId
    this.#writer = new PartWriter(warnings)
    this.#calls = new OpenaiToolCalls(providerId, this.#writer, flat)
    this.#deltas = new OpenaiDeltas(providerId, this.#writer, this.#calls)
  }

  whole(completion: JsonObject): void {
    const choice = this.#take(completion)
    const message = objectAt(choice?.message) ?? objectAt(choice?.delta) ?? {}
    this.#choice({ ...choice, delta: deltaOf(message) }, completion)
    this.#usage(completion)
    this.end()
  }

  push(data: string): void {
    if (this.done) return
    const text = this.#template.match(data)
    if (data === '[DONE]') this.#finish()
    else if (text === undefined) this.#chunk(data)
    else this.#deltas.grow(Kind.TEXT, text)
  }

  get over(): boolean {
    return this.#writer.full
  }

  #chunk(data: string): void {
    const chunk = jsonObject(data, this.#providerId, 'an event')
    const choice = this.#take(chunk)
    const before = this.#writer.size
    if (choice !== undefined) this.#choice(choice, chunk)
    const isLast = this.#reason !== '' && this.#writer.size === before
    // Nothing is missing but `[DONE]`. Servers that report usage continuously do so beside a text.
    if (this.#usage(chunk) && isLast) this.#finish()
    if (objectAt(chunk.usage) === undefined && choice !== undefined && !choice.finish_reason) this.#learn(data, choice)
  }

  take(): ProviderEvent[] {
    return this.#writer.take()
  }

  /** A finish reason or `[DONE]` is required, unless the answer was over before: some servers omit one of them. */
  end(): void {
    if (this.done) return
    if (this.#reason === '' && !this.over) throw unavailable(this.#providerId, 'The answer was cut off')
    this.#finish()
  }

  cut(): void {
    this.#writer.cut()
  }

  overflow(rawReason: string): void {
    this.#writer.beginUnused()
    this.#reason = 'length'
    this.#rawReason = rawReason
    this.#finish(true)
  }

  /** The choice that is read, once a completion or chunk is known not to be an error. */
  #take(chunk: JsonObject): JsonObject | undefined {
    const { error, choices, service_tier: tier } = chunk
    if (error !== undefined && error !== null) throw this.#failed(chunk, openaiError(this.#providerId, error))
    this.#writer.begin()
    this.#serviceTier = wordAt(tier) ?? this.#serviceTier
    return this.#one(
      listAt(choices)
        .map(objectAt)
        .filter((choice) => choice !== undefined),
    )
  }

  /** Only one choice was requested: that with the lowest index of those that come first. Later pieces may have none. */
  #one(choices: readonly JsonObject[]): JsonObject | undefined {
    const [first] = choices.toSorted((one, other) => indexOf(one) - indexOf(other))
    if (first !== undefined) this.#index ??= indexOf(first)
    return choices.find((choice) => indexOf(choice, this.#index) === this.#index)
  }

  #usage(chunk: JsonObject): boolean {
    const reported = objectAt(chunk.usage)
    const usage = reported === undefined ? undefined : openaiUsage(reported)
    if (usage === undefined) return false
    this.#writer.report({ usage, cost: reportedCost(reported ?? {}) })
    return true
  }

  #learn(data: string, choice: JsonObject): void {
    const delta = objectAt(choice.delta)
    const text = textAt(delta?.content)
    const plain = choice.logprobs === undefined || choice.logprobs === null
    if (delta !== undefined && text !== '' && plain && saysOnly(delta)) this.#template.learn(data, text)
  }

  /** A failed answer is charged for, too, if the provider reports its usage. */
  #failed(chunk: JsonObject, error: Error): Error {
    this.#usage(chunk)
    return error
  }

  #choice(choice: JsonObject, chunk: JsonObject): void {
    const delta = objectAt(choice.delta) ?? this.#message(choice)
    const isRepeated = objectAt(choice.delta) === undefined && delta?.content === undefined
    if (delta !== undefined) this.#deltas.push(delta, isRepeated ? undefined : objectAt(choice.logprobs))
    const reason = textAt(choice.finish_reason)
    if (reason === '') return
    this.#reason = reason
    this.#rawReason = textAt(choice.native_finish_reason) || reason
    // vLLM reports it here; a number is a token.
    this.#stopText = wordAt(choice.stop_reason)
    const { error } = choice
    if (error !== undefined && error !== null) throw this.#failed(chunk, openaiError(this.#providerId, error))
    if (reason === 'error')
      throw this.#failed(chunk, unavailable(this.#providerId, 'It ended the answer with an error'))
  }

  /** Some servers stream an answer as one whole message, or repeat it as one at the end (MiniMax). */
  #message(choice: JsonObject): JsonObject | undefined {
    const message = objectAt(choice.message)
    return message && deltaOf(this.#deltas.restOf(message))
  }

  #finish(cut = this.over): void {
    this.#deltas.close()
    this.#calls.end(cut)
    this.done = true
    if (!this.#writer.begun) throw unavailable(this.#providerId, 'The answer is empty')
    // Some servers give `stop` beside tool calls, or no reason at all.
    const waits = this.#calls.count > 0 && (this.#reason === 'stop' || this.#reason === '')
    const reason = waits ? FinishReason.TOOL_CALLS : (REASONS.get(this.#reason) ?? FinishReason.OTHER)
    this.#writer.finish(reason, this.#rawReason, { stopText: this.#stopText, serviceTier: this.#serviceTier })
  }
}

function indexOf({ index }: JsonObject, otherwise = 0): number {
  return Number(index ?? otherwise) || 0
}

/** A whole message as one delta. Each call in it is a separate one, whatever its index and id. */
function deltaOf(message: JsonObject): JsonObject {
  return { ...message, tool_calls: listAt(message.tool_calls).map((call, index) => ({ ...objectAt(call), index })) }
}

/** Whether a delta contains only a text. */
function saysOnly(delta: JsonObject): boolean {
  for (const name in delta) if (name !== 'content' && name !== 'role' && delta[name] !== null) return false
  return true
}

/** Usage as chat completions report it; undefined if one of the numbers is missing. */
function openaiUsage(usage: JsonObject): Usage | undefined {
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
