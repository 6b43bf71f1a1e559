import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService, StreamGenerateResponse } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { MeteredEvent } from '../domain/metered.ts'
import { answer, type GenerateDependencies } from './answer.ts'
import { type Answering, toEvent } from './convert.ts'

/** Generates an answer as a stream; see inference_service.proto. */
export function streamGenerate(
  dependencies: GenerateDependencies,
): ServiceImpl<typeof InferenceService>['streamGenerate'] {
  return ({ generation }, context) => answer(dependencies, generation, context, present)
}

/** What `create` makes, written out. */
function present(batch: readonly MeteredEvent[], by: Answering): StreamGenerateResponse {
  return {
    $typeName: 'portico.inference.v1.StreamGenerateResponse',
    events: batch.map((event) => toEvent(event, by)),
  }
}
