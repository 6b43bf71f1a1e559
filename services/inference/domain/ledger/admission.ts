import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import { MAX_COST_NANOS } from '../cost.ts'
import { type Account, accountAt, type Hold, minuteOf, spentIn, startOfMinute } from './account.ts'

/** What determines the maximum cost of a request. */
export interface MaxCost {
  readonly inputTokens: bigint
  readonly outputTokens: bigint
  /** Whether the request itself sets how much output it wants, so that it must not get less. */
  readonly isFixed: boolean
  /** This provider would refuse a smaller maximum of output; undefined: it takes any. */
  readonly leastOutputTokens?: bigint | undefined
  /** Nano-dollars per million tokens, the highest that may apply; undefined: unknown, so that nothing is held. */
  readonly prices: Prices | undefined
  /**
   * Other possible costs: media of unknown length, and what the provider's own tools read and search; undefined: none.
   */
  readonly extraNanos?: bigint | undefined
}

/** Nano-dollars per million tokens. */
export interface Prices {
  readonly inputNanos: bigint
  readonly outputNanos: bigint
}

/** The rates that a key may have. */
export type RateName = 'requests_per_minute' | 'tokens_per_minute' | 'concurrent_requests'

/** Why a request is not admitted: too little of a spending limit is left, or it exceeds a rate limit. */
export type Refusal =
  | {
      readonly kind: 'money'
      readonly limit: 'key' | 'workspace'
      /** Never below zero. */
      readonly leftNanos: bigint
      readonly neededNanos: bigint
      /** How much output could be paid for. */
      readonly affordableTokens: bigint
    }
  | {
      readonly kind: 'rate'
      readonly rate: RateName
      readonly most: bigint
      /** When it may be tried again, in milliseconds since the epoch. */
      readonly resetAt: number
    }

/** The decision on a request. `outputTokens`: what the rest of a limit pays for, if that is less than was requested. */
export type Admission =
  | { readonly admitted: true; readonly hold: Hold; readonly outputTokens: bigint | undefined }
  | { readonly admitted: false; readonly refusal: Refusal }

const MILLION = 1_000_000n
/** Most providers refuse a smaller maximum. */
const LEAST_OUTPUT = 16n
const CONCURRENT_RETRY_MS = 1_000

/** Decides whether a request is admitted, given what its key and its workspace have spent and hold at a time. */
export function admit(
  accounts: { readonly key: Account; readonly workspace: Account },
  maxCost: MaxCost,
  terms: KeyTerms | undefined,
  now: number,
): Admission {
  const key = accountAt(accounts.key, now)
  const hold = { nanos: highestCost(maxCost), inputTokens: maxCost.inputTokens, minute: minuteOf(now) }
  if (terms === undefined) return { admitted: true, hold, outputTokens: undefined }
  const paid = afford({ key, workspace: accountAt(accounts.workspace, now) }, maxCost, hold, terms)
  if (!paid.admitted) return paid
  const refusal = rateRefusal(key, maxCost, terms, now)
  return refusal === undefined ? paid : { admitted: false, refusal }
}

/** The spending limit that a key has, if any: its own, else that of its workspace. */
export function moneyLimitOf(terms: KeyTerms | undefined): 'key' | 'workspace' | undefined {
  if (terms?.limitNanos !== undefined) return 'key'
  return terms?.workspaceLimitNanos === undefined ? undefined : 'workspace'
}

/** The maximum cost of a request in nano-dollars, which is never more than a cost can be; 0 if prices are unknown. */
export function highestCost({ inputTokens, outputTokens, prices, extraNanos = 0n }: Omit<MaxCost, 'isFixed'>): bigint {
  if (prices === undefined) return 0n
  const millionths = inputTokens * prices.inputNanos + outputTokens * prices.outputNanos
  const nanos = (millionths + MILLION - 1n) / MILLION + extraNanos
  return nanos < MAX_COST_NANOS ? nanos : MAX_COST_NANOS
}

function afford(
  { key, workspace }: { readonly key: Account; readonly workspace: Account },
  maxCost: MaxCost,
  hold: Hold,
  terms: KeyTerms,
): Admission {
  const { limitNanos, limitReset, workspaceLimitNanos } = terms
  const left = {
    key: limitNanos === undefined ? undefined : limitNanos - spentIn(key, limitReset) - key.heldNanos,
    workspace:
      workspaceLimitNanos === undefined ? undefined : workspaceLimitNanos - workspace.totalNanos - workspace.heldNanos,
  }
  const limit = left.key === undefined || (left.workspace ?? left.key) < left.key ? 'workspace' : 'key'
  const leftNanos = left[limit]
  // Requests that cost nothing are admitted, whatever was spent.
  if (leftNanos === undefined || hold.nanos === 0n || hold.nanos <= leftNanos) {
    return { admitted: true, hold, outputTokens: undefined }
  }
  const affordableTokens = affordable(maxCost, leftNanos)
  const { isFixed, leastOutputTokens = 0n } = maxCost
  if (isFixed || affordableTokens < LEAST_OUTPUT || affordableTokens < leastOutputTokens) {
    const refusal = { kind: 'money', limit, neededNanos: hold.nanos, affordableTokens } as const
    return { admitted: false, refusal: { ...refusal, leftNanos: leftNanos > 0n ? leftNanos : 0n } }
  }
  const nanos = highestCost({ ...maxCost, outputTokens: affordableTokens })
  return { admitted: true, hold: { ...hold, nanos }, outputTokens: affordableTokens }
}

/** How much output an amount pays for, after the input. */
function affordable({ inputTokens, outputTokens, prices, extraNanos = 0n }: MaxCost, leftNanos: bigint): bigint {
  if (prices === undefined) return outputTokens
  const rest = (leftNanos - extraNanos) * MILLION - inputTokens * prices.inputNanos
  if (rest <= 0n) return 0n
  return prices.outputNanos === 0n ? outputTokens : rest / prices.outputNanos
}

function rateRefusal(key: Account, maxCost: MaxCost, terms: KeyTerms, now: number): Refusal | undefined {
  const { concurrentRequests, requestsPerMinute, tokensPerMinute } = terms
  const refuse = (rate: RateName, most: bigint, resetAt: number): Refusal => ({ kind: 'rate', rate, most, resetAt })
  const nextMinute = startOfMinute(key.minute + 1)
  if (concurrentRequests !== undefined && key.heldRequests >= concurrentRequests) {
    return refuse('concurrent_requests', BigInt(concurrentRequests), now + CONCURRENT_RETRY_MS)
  }
  if (requestsPerMinute !== undefined && key.minuteRequests >= requestsPerMinute) {
    return refuse('requests_per_minute', BigInt(requestsPerMinute), nextMinute)
  }
  if (tokensPerMinute !== undefined && key.minuteTokens + maxCost.inputTokens > tokensPerMinute) {
    return refuse('tokens_per_minute', tokensPerMinute, nextMinute)
  }
  return undefined
}
