import type { ServiceImpl } from '@connectrpc/connect'
import type { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { MeteredEvent } from '../domain/metered.ts'
import { answer, type GenerateDependencies } from './answer.ts'
import { type Answering, toGeneration } from './convert.ts'

/** Generates an answer and returns it whole; see inference_service.proto. */
export function generate(dependencies: GenerateDependencies): ServiceImpl<typeof InferenceService>['generate'] {
  return async ({ generation }, context) => {
    const events: MeteredEvent[] = []
    let by: Answering = { providerId: '', model: '' }
    for await (const batch of answer(dependencies, generation, context, (events, by) => ({ events, by }))) {
      by = batch.by
      events.push(...batch.events)
    }
    return { generation: toGeneration(events, by) }
  }
}
