import { create } from '@bufbuild/protobuf'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import { AppliedPresetSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { check } from '#shared/rpc/parse.ts'
import { isStoreUnavailable } from '#shared/stores/store-outage.ts'
import { dollarsOf } from '../domain/cost.ts'
import { type Admission, type MaxCost, moneyLimitOf, type RateName, type Refusal } from '../domain/ledger/admission.ts'
import { hasToSendMaximum, maxCostOf } from '../domain/ledger/max-cost.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

/** The maximum cost of a request that costs nothing. */
const FREE: MaxCost = {
  inputTokens: 0n,
  outputTokens: 0n,
  isFixed: true,
  prices: { inputNanos: 0n, outputNanos: 0n },
}

/**
 * Opens the row of a request, counts it, and lets it hold its maximum cost, in one step. Rejects with
 * CREDIT_INSUFFICIENT or PRICE_UNKNOWN if its key may not spend that, and with RATE_LIMITED if it exceeds a rate. If a
 * spending limit applies, a request without a maximum gets one: the output that was reserved for it, or what the rest
 * of the limit pays for.
 */
export async function openRow(generation: Generation, dependencies: GenerationDependencies): Promise<void> {
  const { input, endpoint, provider, terms } = generation
  const { request } = input
  const { providerId, modelId } = endpoint
  const limit = moneyLimitOf(terms)
  if (limit !== undefined && endpoint.pricing === undefined && !dependencies.allowUnpriced) {
    throw new Rejection('PRICE_UNKNOWN', { model: `${providerId}/${modelId}`, limit })
  }
  const factors = provider.costFactors?.({ ...request, modelId }) ?? {}
  const maxCost = maxCostOf(request, endpoint, factors)
  requireFitting(maxCost, terms)
  const { outputTokens = maxCost.outputTokens } = await admitted(generation, maxCost, dependencies)
  generation.costFactors = factors
  generation.inputTokens = maxCost.inputTokens
  const isLimited = limit !== undefined
  generation.maxOutputTokens = hasToSendMaximum(maxCost, { isLimited, endpoint, factors })
    ? Number(outputTokens)
    : undefined
}

/**
 * Opens the row of a request that generates nothing: it costs nothing, but counts in its minute. Rejects with
 * RATE_LIMITED.
 */
export async function openFreeRow(generation: Generation, dependencies: GenerationDependencies): Promise<void> {
  await admitted(generation, FREE, dependencies)
}

async function admitted(
  { input, endpoint, terms, preset }: Generation,
  maxCost: MaxCost,
  { ledger, closer, clock }: GenerationDependencies,
): Promise<Extract<Admission, { readonly admitted: true }>> {
  const { workspaceId, apiKeyId } = input.principal
  const { requestId, sessionId, origin, user, metadata, attribution } = input.request
  const { providerId, modelId } = endpoint
  const opening = {
    workspaceId,
    requestId,
    apiKeyId,
    origin,
    sessionId: sessionId || undefined,
    user: user || undefined,
    providerId,
    modelId,
    preset:
      preset && create(AppliedPresetSchema, { presetId: preset.presetId, slug: preset.slug, version: preset.version }),
    attribution,
    metadata,
    streamed: input.form === 'streamed',
  }
  const open = () =>
    ledger.open(opening, maxCost, terms).catch((error: unknown) => {
      if (isStoreUnavailable(error)) ledger.abandon(workspaceId, requestId, false)
      throw error
    })
  closer.flush()
  let admission = await open()
  if (!admission.admitted && isOfHolds(admission.refusal)) {
    // A client that has its answer may send the next request before the row of the last one is closed and its hold
    // released, in any process.
    await closer.settled(workspaceId)
    admission = await open()
  }
  if (!admission.admitted) throw rejectionOf(admission.refusal, clock.now())
  return admission
}

/** Whether a request may be refused because of what others hold. */
function isOfHolds(refusal: Refusal): boolean {
  return refusal.kind !== 'rate' || refusal.rate !== 'requests_per_minute'
}

/** Refuses a request that exceeds the limit of a whole minute, and so could never be admitted. */
function requireFitting({ inputTokens }: MaxCost, terms: KeyTerms | undefined): void {
  const most = terms?.tokensPerMinute
  const problem = `about ${inputTokens} tokens are more than the ${most} that the key may use a minute`
  check(most === undefined || inputTokens <= most, 'messages', problem)
}

const RATES: Readonly<Record<RateName, readonly [what: string, when: string]>> = {
  requests_per_minute: ['request', 'a minute'],
  tokens_per_minute: ['token', 'a minute'],
  concurrent_requests: ['request', 'at once'],
}

function rejectionOf(refusal: Refusal, now: number): Rejection {
  if (refusal.kind === 'rate') {
    const { rate, most, resetAt } = refusal
    const seconds = Math.max(1, Math.ceil((resetAt - now) / 1_000))
    const [what, when] = RATES[rate]
    const verb = what === 'token' ? 'use' : 'make'
    const problem = `the key may ${verb} ${most} ${what}${Number(most) === 1 ? '' : 's'} ${when}`
    return new Rejection('RATE_LIMITED', {
      limit: rate,
      most: String(most),
      reset: String(resetAt),
      retry_after: String(seconds),
      problem,
    })
  }
  const { limit, leftNanos, neededNanos, affordableTokens } = refusal
  const needed = dollarsOf(neededNanos)
  const left = dollarsOf(leftNanos)
  const pays = affordableTokens > 0n ? `, which pays for at most ${affordableTokens} output tokens` : ''
  return new Rejection('CREDIT_INSUFFICIENT', {
    limit,
    affordable_tokens: String(affordableTokens),
    problem: `the request may cost ${needed} US dollars, and ${left} are left${pays}`,
  })
}
