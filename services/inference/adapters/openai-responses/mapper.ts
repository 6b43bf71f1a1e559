import { create } from '@bufbuild/protobuf'
import { FinishReason, type Usage, UsageSchema, type Warning } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ProviderEvent } from '#services/inference/domain/generation.ts'
import { PartWriter } from '#services/inference/domain/parts.ts'
import type { JsonObject } from '#shared/json.ts'
import { countAt, listAt, objectAt, textAt, wordAt } from '../http/json.ts'
import { jsonObject, type ProviderMapper } from '../http/provider-call.ts'
import { unavailable } from '../http/provider-errors.ts'
import { reportedCost } from '../openai/cost.ts'
import { openaiError } from '../openai/error.ts'
import { DeltaTemplate } from '../openai/template.ts'
import { ResponsesItems } from './items.ts'

/** Converts a response, whole or streamed, to events. Unknown events are ignored. */
export class ResponsesMapper implements ProviderMapper {
  readonly #providerId: string
  readonly #writer: PartWriter
  readonly #items: ResponsesItems
  readonly #template = new DeltaTemplate('delta')
  /** What an event like the learned one does. */
  #grow: (text: string) => void = () => {}
  done = false

  /** `stop`: texts that end the answer. */
  constructor(providerId: string, warnings: readonly Warning[], stop: readonly string[] = []) {
    this.#providerId = providerId
    this.#writer = new PartWriter(warnings)
    this.#items = new ResponsesItems(providerId, this.#writer, stop)
  }

  whole(response: JsonObject): void {
    if (response.status === undefined && response.error) throw openaiError(this.#providerId, response.error)
    this.#finish(response)
  }

  push(data: string): void {
    if (this.done) return
    const text = this.#template.match(data)
    if (text !== undefined) this.#grow(text)
    else if (data !== '[DONE]') this.#event(data)
  }

  get over(): boolean {
    return this.#writer.full || this.#items.stopText !== undefined
  }

  #event(data: string): void {
    const event = jsonObject(data, this.#providerId, 'an event')
    const items = this.#items
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta': {
        const kind = event.type === 'response.refusal.delta' ? Kind.REFUSAL : Kind.TEXT
        const place = placeOf(event)
        const item = items.at(event)
        if (listAt(event.logprobs).length > 0) {
          items.extend(item, place, kind, textAt(event.delta), event.logprobs)
        } else this.#delta(data, event, (text) => items.extend(item, place, kind, text))
        break
      }
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta': {
        const isSummary = event.type === 'response.reasoning_summary_text.delta'
        const [place, kind] = isSummary
          ? (['summary', Kind.REASONING_SUMMARY] as const)
          : (['thought', Kind.REASONING] as const)
        const item = items.at(event)
        this.#delta(data, event, (text) => items.extend(item, place, kind, text))
        break
      }
      case 'response.reasoning_summary_part.added':
        items.paragraph(items.at(event))
        break
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta': {
        const item = items.at(event)
        this.#delta(data, event, (text) => items.extendCall(item, text))
        break
      }
      case 'response.output_text.annotation.added':
        items.annotate(items.at(event), placeOf(event), objectAt(event.annotation))
        break
      case 'response.output_item.added':
        this.#writer.begin()
        this.#template.forget()
        items.begin(event)
        break
      case 'response.output_item.done':
        this.#template.forget()
        items.end(items.at(event), objectAt(event.item) ?? {})
        break
      case 'response.created':
        this.#writer.begin()
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.done':
        this.#finish(objectAt(event.response) ?? {})
        break
      case 'error':
        throw openaiError(this.#providerId, objectAt(event.error) ?? event)
    }
  }

  take(): ProviderEvent[] {
    return this.#writer.take()
  }

  /** The event that ends a response is required, unless the answer was over before. */
  end(): void {
    if (this.done) return
    if (this.over) this.#end(FinishReason.STOP, '')
    else throw unavailable(this.#providerId, this.#writer.begun ? 'The answer was cut off' : 'The answer is empty')
  }

  cut(): void {
    this.#writer.cut()
  }

  overflow(rawReason: string): void {
    this.#writer.beginUnused()
    this.#end(FinishReason.LENGTH, rawReason)
  }

  /** A text grows, and so it will by further events like this one. */
  #delta(data: string, event: JsonObject, grow: (text: string) => void): void {
    const text = textAt(event.delta)
    grow(text)
    if (text !== '' && this.#template.learn(data, text)) this.#grow = grow
  }

  /** Some servers stream no items, or not all of them: the rest is here. */
  #finish(response: JsonObject): void {
    const { status, error } = response
    if (status === 'failed' || status === 'cancelled') {
      // A failed answer is charged for, too.
      this.#usage(objectAt(response.usage))
      throw openaiError(this.#providerId, error ?? 'It did not complete the answer')
    }
    if (status !== 'completed' && status !== 'incomplete') throw unavailable(this.#providerId, 'The answer was cut off')
    this.#writer.begin()
    this.#items.endAll(response.output)
    this.#usage(objectAt(response.usage))
    const why = textAt(objectAt(response.incomplete_details)?.reason)
    const reason = this.#items.stopText === undefined ? reasonOf(status, why, this.#items.waiting) : FinishReason.STOP
    this.#end(reason, why || status, wordAt(response.service_tier))
  }

  #usage(reported: JsonObject | undefined): void {
    const usage = reported && responsesUsage(reported)
    if (usage === undefined) return
    this.#writer.report({ usage, cost: reportedCost(reported ?? {}), billed: this.#items.ownTools.billed })
  }

  #end(reason: FinishReason, rawReason: string, serviceTier?: string): void {
    this.#items.close()
    this.done = true
    this.#writer.finish(reason, rawReason, { stopText: this.#items.stopText, serviceTier })
  }
}

function reasonOf(status: 'completed' | 'incomplete', why: string, waiting: boolean): FinishReason {
  if (status === 'completed') return waiting ? FinishReason.TOOL_CALLS : FinishReason.STOP
  if (why === 'content_filter') return FinishReason.CONTENT_FILTER
  return why === 'max_output_tokens' ? FinishReason.LENGTH : FinishReason.OTHER
}

function placeOf({ content_index: index }: JsonObject): number {
  return typeof index === 'number' ? index : 0
}

/** Usage as responses report it; undefined if one of the numbers is missing. */
function responsesUsage(usage: JsonObject): Usage | undefined {
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
