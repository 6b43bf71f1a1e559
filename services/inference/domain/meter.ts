import { create } from '@bufbuild/protobuf'
import type { Pricing, Usage, Warning } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  type GenerationFinished,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import {
  type Billed,
  type CostTerms,
  costOf,
  MAX_COST_NANOS,
  outputCostOf,
  type ReportedCost,
  saysAll,
} from './cost.ts'
import type { ProviderEvent, ReportedUsage } from './generation.ts'
import { AnswerSize } from './ledger/answer-size.ts'
import type { CostFactors } from './ledger/cost-factors.ts'
import { estimatedUsage, withCached } from './ledger/estimate.ts'

/** A hundred times what any model accepts or generates. */
const MAX_TOKENS = 1_000_000_000n
/** Many times the searches of any answer. */
const MAX_SEARCHES = 100_000n
/** Models' longest tokens are sequences of about a hundred spaces. */
const MOST_BYTES_OF_TOKEN = 2_000

/** Measures a generation as its events pass. Without a plausible usage, it is estimated from what was streamed. */
export class Meter {
  readonly #pricing: Pricing | undefined
  #usage: Usage | undefined
  #reported: ReportedCost | undefined
  readonly #inputTokens: bigint
  readonly #factors: CostFactors
  #billed: Billed = {}
  readonly #size: AnswerSize
  #warnings: readonly Warning[] | undefined
  #end: GenerationFinished | undefined
  #answers = false
  #implausible = false

  /** `inputTokens`: the estimate of the input. `factors`: what else influences the cost. */
  constructor(pricing: Pricing | undefined, inputTokens: bigint, factors: CostFactors = {}) {
    this.#pricing = pricing
    this.#inputTokens = inputTokens
    this.#factors = factors
    this.#size = new AnswerSize(factors.outputTokens)
  }

  /** Whether the last event has passed. */
  get finished(): boolean {
    return this.#end !== undefined
  }

  /** Whether the provider reported an implausible usage. */
  get implausible(): boolean {
    return this.#implausible
  }

  /** The usage that the provider reported, once the last event has passed. */
  get usage(): Usage | undefined {
    return this.#usage
  }

  /** How it ended; undefined: it has not. */
  get end(): GenerationFinished | undefined {
    return this.#end
  }

  get warnings(): readonly Warning[] {
    return this.#warnings ?? []
  }

  /** Whether a part of the answer has begun. */
  get answers(): boolean {
    return this.#answers
  }

  /** The estimate of the output that has passed so far, given the maximum that the provider was sent. */
  get outputTokens(): bigint {
    return BigInt(this.#size.tokens)
  }

  /**
   * Ends a generation that broke off: its usage is estimated, if the provider had accepted the request. `isSpent`:
   * something was used, even if nothing has passed. Otherwise an answer without any output costs nothing.
   */
  breakOff(isSpent: boolean): void {
    if (this.finished) return
    const isCounted = isSpent || this.outputTokens > 0n || Boolean(this.#usage?.outputTokens)
    this.#usage = isCounted ? estimatedUsage(this.#usage, this.#inputTokens, this.outputTokens) : undefined
    if (!isCounted) this.#reported = undefined
  }

  /** The cost by the configured price, else as the provider reports it, else by the list; 0 if all are unknown. */
  get costNanos(): bigint {
    if (this.#counted !== undefined) return this.#counted.nanos
    return this.#usage === undefined ? 0n : costOf(this.#usage, this.#pricing, this.#terms)
  }

  /** Whether the cost is known; otherwise it is an estimate, or nothing if there is no price at all. */
  get costKnown(): boolean {
    return this.#counted !== undefined || saysAll(this.#pricing, this.#terms)
  }

  /** The cost that the provider reports, if no price is configured for it; undefined: it is computed. */
  get #counted(): ReportedCost | undefined {
    const configured = this.#pricing?.listed ? undefined : this.#pricing
    return saysAll(configured, this.#terms) ? undefined : this.#reported
  }

  get #terms(): CostTerms {
    const { pricePercent, tierPercents } = this.#factors
    const tier = this.#end?.serviceTier
    // An answer without a tier may come from a server that ignores the requested one: then nothing is cheaper.
    const isNamed = tier !== undefined && tierPercents !== undefined
    const percent = isNamed ? (tierPercents.get(tier) ?? 100) : Math.max(pricePercent ?? 100, 100)
    return { billed: this.#billed, percent: Math.max(this.#billed.pricePercent ?? 0, percent) }
  }

  get #outputCostNanos(): bigint {
    if (this.#counted !== undefined) return this.#counted.outputNanos
    return this.#usage === undefined ? 0n : outputCostOf(this.#usage, this.#pricing, this.#terms)
  }

  /** Takes usage out of a batch, and adds usage and cost to the last event. May leave nothing. */
  take(batch: readonly ProviderEvent[]): readonly GenerationEvent[] {
    if (this.#count(batch)) return batch
    const events: GenerationEvent[] = []
    for (const each of batch) {
      const { event } = each
      if (event.case === 'usage') this.#note(event.value)
      else if (event.case === 'finished') this.#end = event.value
      else if (isOfAnswer(each)) events.push(each)
    }
    if (this.#end === undefined) return events
    const reported = this.#usage
    const isTrue = reported !== undefined && this.#saysEnough(reported)
    if (reported !== undefined && !isTrue) this.#implausible = true
    if (!isTrue) this.#billed = {}
    this.#usage = isTrue ? reported : estimatedUsage(reported, this.#inputTokens, this.outputTokens)
    const { costNanos, costKnown } = this
    const value = { ...this.#end, usage: this.#usage, costNanos, outputCostNanos: this.#outputCostNanos, costKnown }
    events.push(create(GenerationEventSchema, { event: { case: 'finished', value } }))
    return events
  }

  /** Whether a usage is plausible: nobody writes that much in so few tokens, or without any input. */
  #saysEnough({ inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens }: Usage): boolean {
    const { shownBytes, isTooLong } = this.#size
    if (shownBytes === 0) return true
    // A stream that was cut may have said only what it had used at its beginning.
    if (isTooLong && Number(outputTokens) < (this.#factors.outputTokens ?? 0)) return false
    const hasInput = inputTokens + cacheReadTokens + cacheWriteTokens > 0n
    return hasInput && Number(outputTokens) * MOST_BYTES_OF_TOKEN >= shownBytes
  }

  /** Counts the events of a batch; returns whether all of them are passed on unchanged. */
  #count(batch: readonly ProviderEvent[]): batch is readonly GenerationEvent[] {
    let passes = true
    for (const { event } of batch) {
      this.#size.add(event)
      switch (event.case) {
        case 'partStarted':
          this.#answers = true
          break
        case 'started':
          this.#warnings = event.value.warnings
          break
        case 'withheld':
        case 'usage':
        case 'finished':
          passes = false
      }
    }
    return passes
  }

  #note({ usage, cost, billed }: ReportedUsage): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
    const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens]
    const { webSearches = 0n, fileSearches = 0n } = billed ?? {}
    const isTooMuch = counts.some((tokens) => tokens > MAX_TOKENS) || webSearches + fileSearches > MAX_SEARCHES
    if (isTooMuch) this.#implausible = true
    else {
      this.#usage = withCached(usage)
      this.#billed = billed ?? this.#billed
    }
    if (cost !== undefined && cost.nanos <= MAX_COST_NANOS) this.#reported = cost
  }
}

/** Whether an event leaves the service. */
function isOfAnswer(whole: ProviderEvent): whole is GenerationEvent {
  const { case: kind } = whole.event
  return kind !== 'usage' && kind !== 'withheld'
}
