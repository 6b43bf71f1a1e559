import type { HandlerContext } from '@connectrpc/connect'
import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import type { GenerationRequest as GenerationMessage } from '#gen/portico/inference/v1/inference_pb.js'
import { isAuthenticated, principalOf } from '#shared/rpc/call-context.ts'
import { check } from '#shared/rpc/parse.ts'
import { Generation, type GenerationDependencies, type GenerationInput } from '../run/generation.ts'
import { runSteps } from '../run/steps.ts'
import { parseGeneration } from './parse-generation.ts'
import { parseTerms } from './parse-terms.ts'

/** The common part of calls that generate or count tokens. */
interface Requested {
  readonly generation?: GenerationMessage | undefined
  readonly terms?: KeyTerms | undefined
}

/** Starts the requested generation, whose answer must be pulled. */
export async function startGeneration(
  requested: Requested,
  form: GenerationInput['form'],
  context: HandlerContext,
  dependencies: GenerationDependencies,
): Promise<Generation> {
  const generation = toGeneration(requested, form, context)
  await runSteps(generation, dependencies)
  return generation
}

/** The requested generation, before any of its steps. Rejects with REQUEST_INVALID. */
export function toGeneration(
  { generation: message, terms }: Requested,
  form: GenerationInput['form'],
  context: HandlerContext,
): Generation {
  const principal = principalOf(context)
  check(message !== undefined, 'generation', 'is missing')
  const who = { principal, authenticated: isAuthenticated(context), caller: context.signal, terms: parseTerms(terms) }
  const { model, responseFormat, showPreset, modelRequired } = message
  const wantsText = responseFormat !== undefined && responseFormat.format.case === undefined
  return new Generation({
    ...who,
    form,
    model,
    request: parseGeneration(message),
    modelRequired,
    wantsText,
    showPreset: showPreset === true,
  })
}
