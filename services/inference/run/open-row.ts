import { Rejection } from '#shared/rejection.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { pricesAt } from '../domain/cost.ts'
import type { Demand, RateName, Refusal } from '../domain/ledger/admission.ts'
import { inputTokensOf } from '../domain/ledger/estimate.ts'
import { moneyLimitOf } from '../domain/ledger/key-terms.ts'
import { dollarsOf } from '../domain/money.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

/** How much a model is taken to generate at most, where neither the request nor the model list says it. */
const OUTPUT_TOKENS = 32_768

/**
 * Opens the row of a request, counts it, and has it hold what it may cost, in one step. What its key may not spend is refused with
 * CREDIT_INSUFFICIENT or PRICE_UNKNOWN, what comes too fast with RATE_LIMITED; where the rest of a limit pays for less output than the
 * request left open, that becomes its maximum.
 */
export async function openRow(generation: Generation, dependencies: GenerationDependencies): Promise<void> {
  const { input, endpoint, terms, preset } = generation
  const { principal, request } = input
  const { providerId, modelId } = endpoint
  const limit = moneyLimitOf(terms)
  if (limit !== undefined && endpoint.pricing === undefined && !dependencies.allowUnpriced) {
    throw new Rejection('PRICE_UNKNOWN', { model: `${providerId}/${modelId}`, limit })
  }
  const demand = demandOf(generation)
  const { requestId, sessionId = '', origin, user = '', metadata, attribution } = request
  const { workspaceId: workspace, apiKeyId } = principal
  const opening = {
    ...{ workspace, requestId, apiKeyId, origin, sessionId, user, providerId, modelId, preset, attribution, metadata },
    streamed: input.form === 'streamed',
  }
  const admission = await dependencies.ledger.open(opening, demand, terms).catch((error: unknown) => {
    if (isStoreUnavailable(error)) dependencies.ledger.abandon(workspace, requestId)
    throw error
  })
  if (!admission.admitted) throw rejectionOf(admission.refusal, dependencies.clock.now())
  generation.inputTokens = demand.inputTokens
  generation.maxOutputTokens = admission.outputTokens === undefined ? undefined : Number(admission.outputTokens)
}

function demandOf({ input: { request }, endpoint }: Generation): Demand {
  const { pricing, contextLength, outputLimit } = endpoint
  const { maxOutputTokens } = request
  const inputTokens = inputTokensOf(request)
  const most = contextLength === undefined ? inputTokens : BigInt(contextLength)
  const prices = pricing && pricesAt(inputTokens, pricing)
  return {
    inputTokens: inputTokens < most ? inputTokens : most,
    outputTokens: BigInt(maxOutputTokens ?? outputLimit ?? OUTPUT_TOKENS),
    isFixed: maxOutputTokens !== undefined,
    prices: prices && {
      // Writing to a cache may cost more than input does.
      inputNanos: larger(prices.cacheWriteNanos, prices.inputNanos),
      outputNanos: prices.outputNanos,
    },
  }
}

function larger(one: bigint, other: bigint): bigint {
  if (one > other) return one
  return other
}

const RATES: Readonly<Record<RateName, string>> = {
  requests_per_minute: 'requests a minute',
  tokens_per_minute: 'tokens a minute',
  concurrent_requests: 'requests at once',
}

function rejectionOf(refusal: Refusal, now: number): Rejection {
  if (refusal.kind === 'rate') {
    const { rate, most, resetAt } = refusal
    const seconds = Math.max(1, Math.ceil((resetAt - now) / 1_000))
    const problem = `the key may make ${most} ${RATES[rate]}`
    return new Rejection('RATE_LIMITED', {
      ...{ limit: rate, most: String(most), reset: String(resetAt), retry_after: String(seconds), problem },
    })
  }
  const { limit, leftNanos, neededNanos, affordableTokens } = refusal
  const [needed, left] = [dollarsOf(neededNanos), dollarsOf(leftNanos)]
  const pays = affordableTokens > 0n ? `, which pays for at most ${affordableTokens} output tokens` : ''
  return new Rejection('CREDIT_INSUFFICIENT', {
    limit,
    affordable_tokens: String(affordableTokens),
    problem: `the request may cost ${needed} US dollars, and ${left} are left${pays}`,
  })
}
