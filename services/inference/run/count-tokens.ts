import { Rejection } from '#shared/rejection.ts'
import { inputTokensOf } from '../domain/ledger/estimate.ts'
import type { Generation, GenerationDependencies } from './generation.ts'
import { runCountingSteps } from './steps.ts'

/** How many tokens the input of a request has. */
export interface TokenCount {
  readonly inputTokens: bigint
  /** Whether that is Portico's estimate. */
  readonly estimated: boolean
}

/** What a provider says of the request itself, whoever counts. */
const REFUSALS: ReadonlySet<string | undefined> = new Set(['400', '403', '413', '422'])

/** Counts the input tokens of a request: by its provider where that counts, else by an estimate. */
export async function countTokens(generation: Generation, dependencies: GenerationDependencies): Promise<TokenCount> {
  await runCountingSteps(generation, dependencies)
  const { input, provider, endpoint } = generation
  const request = { ...input.request, modelId: endpoint.modelId }
  try {
    const inputTokens = await provider.countTokens?.(request, input.caller)
    if (inputTokens !== undefined) return { inputTokens, estimated: false }
  } catch (error) {
    if (input.caller.aborted || !(error instanceof Rejection)) throw error
    if (error.reason === 'PROVIDER_REFUSED' && REFUSALS.has(error.metadata.status)) throw error
  }
  return { inputTokens: inputTokensOf(request), estimated: true }
}
