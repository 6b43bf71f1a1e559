import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { GenerationDependencies } from '../run/generation.ts'
import { eventToProto } from './convert.ts'
import { startGeneration } from './start-generation.ts'

/** Generates an answer as a stream; see inference_service.proto. */
export function streamGenerate(
  dependencies: GenerationDependencies,
): ServiceImpl<typeof InferenceService>['streamGenerate'] {
  return async function* (request, context) {
    const generation = await startGeneration(request, 'streamed', context, dependencies)
    for await (const batch of generation.answer) {
      // What `create` makes, written out.
      const events = batch.map((event) => eventToProto(event, generation))
      yield { $typeName: 'portico.inference.v1.StreamGenerateResponse', events }
    }
  }
}
