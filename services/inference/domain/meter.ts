import { costOf, MAX_COST_NANOS, outputCostOf, type Pricing } from './cost.ts'
import type { GenerationEvent, ReportedCost, Usage } from './generation.ts'

type Finished = Extract<GenerationEvent, { readonly type: 'finished' }>

/** An event as the caller sees it: usage and cost come once, at the end. */
export type MeteredEvent =
  | Exclude<GenerationEvent, { readonly type: 'usage' | 'finished' }>
  | (Finished & {
      /** Undefined: the provider reported none. */
      readonly usage: Usage | undefined
      readonly costNanos: bigint
      readonly outputCostNanos: bigint
      /** Whether the cost is known. */
      readonly costKnown: boolean
    })

/** A hundred times what any model takes or gives. */
const MAX_TOKENS = 1_000_000_000n

/** Measures one generation while its events pass. A usage that cannot be true counts as none reported. */
export class Meter {
  readonly #pricing: Pricing | undefined
  #usage: Usage | undefined
  #reported: ReportedCost | undefined
  #finished = false
  #implausible = false

  constructor(pricing: Pricing | undefined) {
    this.#pricing = pricing
  }

  /** Whether the last event has passed. */
  get finished(): boolean {
    return this.#finished
  }

  /** Whether the provider reported a usage that cannot be true. */
  get implausible(): boolean {
    return this.#implausible
  }

  /** What was used so far, as the provider reported it. */
  get usage(): Usage | undefined {
    return this.#usage
  }

  /** What that costs, by its price, else as the provider says; 0 when neither is known. */
  get costNanos(): bigint {
    if (this.#pricing === undefined) return this.#reported?.nanos ?? 0n
    return this.#usage === undefined ? 0n : costOf(this.#usage, this.#pricing)
  }

  /** Whether the cost is known. */
  get costKnown(): boolean {
    return this.#pricing !== undefined || this.#reported !== undefined
  }

  get #outputCostNanos(): bigint {
    if (this.#pricing === undefined) return this.#reported?.outputNanos ?? 0n
    return this.#usage === undefined ? 0n : outputCostOf(this.#usage, this.#pricing)
  }

  /** Takes usage out of a batch, and puts it and the cost into the last event. May leave nothing. */
  take(batch: readonly GenerationEvent[]): readonly MeteredEvent[] {
    if (batch.every(isPassedOn)) return batch
    const events: MeteredEvent[] = []
    let last: Finished | undefined
    for (const event of batch) {
      if (event.type === 'usage') this.#note(event)
      else if (event.type === 'finished') last = event
      else events.push(event)
    }
    if (last === undefined) return events
    this.#finished = true
    const { costNanos, costKnown } = this
    events.push({ ...last, usage: this.#usage, costNanos, outputCostNanos: this.#outputCostNanos, costKnown })
    return events
  }

  #note({ usage, cost }: Extract<GenerationEvent, { readonly type: 'usage' }>): void {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
    const counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens]
    if (counts.some((tokens) => tokens > MAX_TOKENS)) this.#implausible = true
    else this.#usage = usage
    if (cost !== undefined && cost.nanos <= MAX_COST_NANOS) this.#reported = cost
  }
}

function isPassedOn(event: GenerationEvent): event is Exclude<MeteredEvent, Finished> {
  return event.type !== 'usage' && event.type !== 'finished'
}
