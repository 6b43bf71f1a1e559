import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { countTokens as count } from '../run/count-tokens.ts'
import type { GenerationDependencies } from '../run/generation.ts'
import { toGeneration } from './start-generation.ts'

/** Counts the input tokens of a request; see inference_service.proto. */
export function countTokens(dependencies: GenerationDependencies): ServiceImpl<typeof InferenceService>['countTokens'] {
  return (request, context) => count(toGeneration(request, 'whole', context), dependencies)
}
