import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { MeteredEvent } from '../domain/meter.ts'
import type { GenerationDependencies } from '../run/generation.ts'
import { generationToProto } from './convert.ts'
import { startGeneration } from './start-generation.ts'

/** Generates an answer and returns it whole; see inference_service.proto. */
export function generate(dependencies: GenerationDependencies): ServiceImpl<typeof InferenceService>['generate'] {
  return async (request, context) => {
    const generation = await startGeneration(request, 'whole', context, dependencies)
    const events: MeteredEvent[] = []
    for await (const batch of generation.answer) for (const event of batch) events.push(event)
    return { generation: generationToProto(events, generation) }
  }
}
