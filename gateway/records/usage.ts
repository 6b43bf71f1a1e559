import { z } from 'zod'
import type { TokenUsage } from '#gen/portico/session/v1/session_pb.js'
import type { JsonOf } from '../kinds.ts'

/** US dollars. */
export const cost = z.number().min(0).max(9_000_000_000).meta({ description: 'US dollars' })

const count = z.int().min(0)

export const tokenUsage = z
  .strictObject({
    input: count,
    output: count,
    reasoning: count,
    cache: z.strictObject({ read: count, write: count }),
  })
  .meta({ id: 'TokenUsage.Info' })

/** Nano-dollars as dollars. */
export function fromCost(nanos: bigint): number {
  return Number(nanos) / 1e9
}

/** Dollars, at most nine billion of them, as nano-dollars; what is less than one is rounded. */
export function toCost(dollars: number): bigint {
  return BigInt(dollars.toFixed(9).replace('.', ''))
}

export function fromTokenUsage(usage: TokenUsage | undefined): JsonOf<typeof tokenUsage> {
  return {
    input: usage?.input ?? 0,
    output: usage?.output ?? 0,
    reasoning: usage?.reasoning ?? 0,
    cache: { read: usage?.cacheRead ?? 0, write: usage?.cacheWrite ?? 0 },
  }
}
