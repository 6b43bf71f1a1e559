import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { inputTokensOf } from '../domain/ledger/estimate.ts'
import type { LedgerClosing } from '../ports/ledger.ts'
import { type Generation, type GenerationDependencies, startDeadline } from './generation.ts'
import { runCountingSteps } from './steps.ts'

/** How many tokens the input of a request has. */
export interface TokenCount {
  readonly inputTokens: bigint
  /** Whether that is Portico's estimate. */
  readonly estimated: boolean
}

/** Counting is quick: a provider that takes longer is not waited for. */
const COUNT_MS = 10_000
/** Rejections that concern the request itself, whoever counts. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['400', '403', '413', '422'])

/**
 * Counts the input tokens of a request: by its provider if it can count, and does so in time, else by an estimate. Like
 * other requests of its key it has a row, which costs nothing.
 */
export async function countTokens(generation: Generation, dependencies: GenerationDependencies): Promise<TokenCount> {
  await runCountingSteps(generation, dependencies)
  const end = (status: LedgerClosing['status'], error?: string): Promise<void> =>
    dependencies.closer.close(closingOf(generation, status, error))
  try {
    const count = await counted(generation, dependencies)
    await end(Status.COMPLETED)
    return count
  } catch (error) {
    if (generation.input.caller.aborted) await end(Status.ABORTED)
    else await end(Status.FAILED, error instanceof Rejection ? error.reason : 'INTERNAL')
    throw error
  }
}

async function counted(
  { input, provider, endpoint: { modelId, providerId } }: Generation,
  { timeoutMs }: GenerationDependencies,
): Promise<TokenCount> {
  const request = { ...input.request, modelId }
  const late = (): Rejection => new Rejection('PROVIDER_TIMEOUT', { provider: providerId })
  using deadline = startDeadline(input.caller, Math.min(COUNT_MS, timeoutMs), late)
  try {
    const inputTokens = await provider.countTokens?.(request, deadline.signal)
    if (inputTokens !== undefined) return { inputTokens, estimated: false }
  } catch (error) {
    if (input.caller.aborted || !(error instanceof Rejection)) throw error
    if (error.reason === 'PROVIDER_REFUSED' && REFUSALS.has(error.metadata.status)) throw error
  }
  return { inputTokens: inputTokensOf(request), estimated: true }
}

function closingOf(
  { input, warnings }: Generation,
  status: LedgerClosing['status'],
  error: string | undefined,
): LedgerClosing {
  const { workspaceId, apiKeyId } = input.principal
  return {
    workspaceId,
    requestId: input.request.requestId,
    apiKeyId,
    status,
    error,
    costNanos: 0n,
    costKnown: true,
    leftOut: [...new Set(warnings.map(({ field }) => field))],
  }
}
