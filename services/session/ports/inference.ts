import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { PeerCall } from './peer-call.ts'

/** The inference service. Rejects with the reasons of inference_service.proto, and with PEER_UNAVAILABLE. */
export interface Inference {
  /** A model, the default one where none is named, and how many tokens its context has; undefined: nobody knows. */
  findModel(
    call: PeerCall,
    model: ModelRef | undefined,
  ): Promise<{ readonly model: ModelRef; readonly contextLength: number | undefined }>
  /** Each item is what came at once. */
  generate(call: PeerCall, generation: GenerationRequest): AsyncIterable<readonly GenerationEvent[]>
}
