import { create } from '@bufbuild/protobuf'
import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type ForkOrigin,
  type Outcome,
  type PermissionRuleset,
  type SessionLocation,
  type TokenUsage,
  TokenUsageSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'

export const NO_TOKENS = create(TokenUsageSchema)

/** Most that a session, or one message, costs in nano-dollars, as in the ledger: totals of a session end there. */
export const MOST_COST_NANOS = 10n ** 16n
/** Most tokens of one kind that a session, or one message, has used: totals of a session end there. */
export const MOST_TOKENS = 1_000_000_000_000

/** The sum of two usages; none of its counts is above `most`. */
export function addTokens(a: TokenUsage, b: TokenUsage, most: number): TokenUsage {
  return create(TokenUsageSchema, {
    input: Math.min(a.input + b.input, most),
    output: Math.min(a.output + b.output, most),
    reasoning: Math.min(a.reasoning + b.reasoning, most),
    cacheRead: Math.min(a.cacheRead + b.cacheRead, most),
    cacheWrite: Math.min(a.cacheWrite + b.cacheWrite, most),
  })
}

/** The sum of two costs, which is not above `most`. */
export function addCost(a: bigint, b: bigint, most: bigint): bigint {
  const sum = a + b
  return sum < most ? sum : most
}

/** A session without its bookkeeping. Times are milliseconds since the epoch; money is nano-dollars. */
export interface Session {
  readonly id: string
  readonly parentId: string | undefined
  readonly fork?: ForkOrigin | undefined
  readonly title: string | undefined
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  readonly location: SessionLocation
  readonly metadata: JsonObject | undefined
  readonly permissions: PermissionRuleset | undefined
  readonly costNanos: bigint
  readonly tokens: TokenUsage
  readonly outcome: Outcome | undefined
  readonly timeCreated: number
  /** Last real activity: moved by admissions, selections and steps; never by leases. */
  readonly timeUpdated: number
  /** End of the last run; grows by at least 1 with each end. */
  readonly timeIdle: number | undefined
  /** The end of a run that somebody has seen; never after the last one. */
  readonly timeViewed: number | undefined
  /** When it was archived; only of an imported session. It has no effect. */
  readonly timeArchived?: number | undefined
}

/** A session that is about to be created. */
export interface NewSession {
  readonly id: string
  /** Undefined: a root session. */
  readonly parentId?: string
  readonly title: string | undefined
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  readonly location: SessionLocation
  readonly metadata: JsonObject | undefined
  readonly permissions: PermissionRuleset | undefined
}
