import type { GenerationEvent, GenerationRequest } from '../domain/generation/generation.ts'
import type { ModelRef } from '../domain/session.ts'
import type { PeerCall } from './peer-call.ts'

/** The inference service. Rejects with the reasons of inference_service.proto, and with PEER_UNAVAILABLE. */
export interface Inference {
  defaultModel(call: PeerCall): Promise<ModelRef>
  /** `blobs` holds the content of every medium in the request, by hash. Each item is what came at once. */
  generate(
    call: PeerCall,
    request: GenerationRequest,
    blobs: ReadonlyMap<string, Uint8Array>,
  ): AsyncIterable<readonly GenerationEvent[]>
}
