import { create, fromJsonString } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import {
  type CallCounts,
  CallCountsSchema,
  type DayStats,
  DayStatsSchema,
  type ModelStats,
  ModelStatsSchema,
  type ToolUsage,
  ToolUsageSchema,
} from '#gen/portico/session/v1/stats_pb.js'
import { addCost, addTokens, NO_TOKENS } from '../session.ts'
import type { CountedCall } from './activity.ts'
import { type Calendar, daysBetween } from './calendar.ts'
import { Durations } from './durations.ts'

/**
 * Sums are capped where a JSON number, or a cost in nano-dollars as 64 bits, would not be exact, so that no sum makes
 * the answer invalid.
 */
const MOST_TOKENS = Number.MAX_SAFE_INTEGER
const MOST_COST_NANOS = 9n * 10n ** 18n
/** How many tools and models are listed: those that are used most. */
const MOST_NAMED = 1_000

/** A message, as statistics read it. */
export interface CountedActivity {
  /** The same for the same session. */
  readonly session: string | number
  readonly isRoot: boolean
  readonly timeCreated: number
  readonly type: 'prompt' | 'step' | 'compaction'
  /** JSON of a ModelRef, which is the same text for the same model; undefined but for a step. */
  readonly model: string | undefined
  readonly tokens: TokenUsage | undefined
  readonly costNanos: bigint | undefined
  /** Empty where they are not wanted. */
  readonly calls: readonly CountedCall[]
}

interface Sum {
  stepCount: number
  tokens: TokenUsage
  costNanos: bigint
}

/** Adds up what sessions did; what it is given comes in order of time. */
export class Stats {
  readonly #calendar: Calendar
  readonly #roots = new Set<string | number>()
  readonly #children = new Set<string | number>()
  readonly #models = new Map<string, Sum>()
  readonly #compactions = noSum()
  readonly #tools = new Map<string, { readonly calls: CallCounts; readonly durations: Durations }>()
  readonly #days = new Map<string, number>()
  /** Time of the first thing counted. */
  first: number | undefined
  prompts = 0
  readonly calls = create(CallCountsSchema)

  constructor(calendar: Calendar) {
    this.#calendar = calendar
  }

  add({ session, isRoot, timeCreated, type, model, tokens, costNanos, calls }: CountedActivity): void {
    this.first ??= timeCreated
    if (type === 'compaction') {
      addUsage(this.#compactions, tokens, costNanos)
      return
    }
    const sessions = isRoot ? this.#roots : this.#children
    sessions.add(session)
    if (type === 'prompt') {
      if (isRoot) this.prompts += 1
      return
    }
    const sum = this.#models.get(model ?? '') ?? noSum()
    if (sum.stepCount === 0) this.#models.set(model ?? '', sum)
    sum.stepCount += 1
    addUsage(sum, tokens, costNanos)
    const date = this.#calendar.dateOf(timeCreated)
    this.#days.set(date, (this.#days.get(date) ?? 0) + 1)
    for (const call of calls) this.#addCall(call)
  }

  get sessions(): number {
    return this.#roots.size
  }

  get children(): number {
    return this.#children.size
  }

  /** All steps, and the usage of compactions. */
  get total(): Readonly<Sum> {
    const total = { ...this.#compactions }
    for (const { stepCount, tokens, costNanos } of this.#models.values()) {
      total.stepCount += stepCount
      addUsage(total, tokens, costNanos)
    }
    return total
  }

  /** By their tokens, most first; at most 1,000. */
  get models(): ModelStats[] {
    const all = [...this.#models].toSorted(
      ([, a], [, b]) => countOf(b.tokens) - countOf(a.tokens) || b.stepCount - a.stepCount,
    )
    return all
      .slice(0, MOST_NAMED)
      .map(([model, sum]) => create(ModelStatsSchema, { model: fromJsonString(ModelRefSchema, model), ...sum }))
  }

  /** By their calls, most first; at most 1,000. */
  get tools(): ToolUsage[] {
    const all = [...this.#tools].toSorted(
      ([a, { calls }], [b, { calls: others }]) => callsOf(others) - callsOf(calls) || (a < b ? -1 : 1),
    )
    return all.slice(0, MOST_NAMED).map(([name, { calls, durations }]) => {
      return create(ToolUsageSchema, { name, calls, medianDurationMs: durations.median() })
    })
  }

  get days(): DayStats[] {
    const all = [...this.#days].map(([date, stepCount]) => create(DayStatsSchema, { date, stepCount }))
    return all.sort((a, b) => (a.date < b.date ? -1 : 1))
  }

  /** The longest run of days with a step. */
  get streak(): number {
    let longest = 0
    let run = 0
    let last: string | undefined
    for (const { date } of this.days) {
      run = last !== undefined && daysBetween(last, date) === 1 ? run + 1 : 1
      longest = Math.max(longest, run)
      last = date
    }
    return longest
  }

  #addCall({ name, end, durationMs }: CountedCall): void {
    const tool = this.#tools.get(name) ?? { calls: create(CallCountsSchema), durations: new Durations() }
    this.#tools.set(name, tool)
    tool.calls[`${end}Count`] += 1
    this.calls[`${end}Count`] += 1
    if (durationMs !== undefined) tool.durations.add(durationMs)
  }
}

/** All calls, however they ended. */
function callsOf({ succeededCount, failedCount, unfinishedCount }: CallCounts): number {
  return succeededCount + failedCount + unfinishedCount
}

function countOf({ input, output, reasoning, cacheRead, cacheWrite }: TokenUsage): number {
  return input + output + reasoning + cacheRead + cacheWrite
}

function addUsage(sum: Sum, tokens: TokenUsage | undefined, costNanos: bigint | undefined): void {
  if (tokens !== undefined) sum.tokens = addTokens(sum.tokens, tokens, MOST_TOKENS)
  if (costNanos !== undefined) sum.costNanos = addCost(sum.costNanos, costNanos, MOST_COST_NANOS)
}

function noSum(): Sum {
  return { stepCount: 0, tokens: NO_TOKENS, costNanos: 0n }
}
