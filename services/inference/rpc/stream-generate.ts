import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { MappedStream } from '#shared/streams.ts'
import type { MeteredEvent } from '../domain/meter.ts'
import type { Generation, GenerationDependencies } from '../run/generation.ts'
import { eventToProto } from './convert.ts'
import { startGeneration } from './start-generation.ts'

/** Generates an answer as a stream; see inference_service.proto. */
export function streamGenerate(
  dependencies: GenerationDependencies,
): ServiceImpl<typeof InferenceService>['streamGenerate'] {
  return (request, context) => {
    let generation: Generation
    const open = async () => {
      generation = await startGeneration(request, 'streamed', context, dependencies)
      return generation.answer
    }
    return new MappedStream(open, (batch: readonly MeteredEvent[]) => {
      // What `create` makes, written out.
      const events = batch.map((event) => eventToProto(event, generation))
      return { $typeName: 'portico.inference.v1.StreamGenerateResponse', events }
    })
  }
}
