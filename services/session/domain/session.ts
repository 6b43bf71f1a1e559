import { create } from '@bufbuild/protobuf'
import { type TokenUsage, TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'

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
