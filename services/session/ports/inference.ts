import type { GenerationEvent, GenerationRequest } from '../domain/generation/generation.ts'
import type { ModelRef } from '../domain/session.ts'
import type { PeerCall } from './peer-call.ts'

/** The inference service. Rejects with the reasons of inference_service.proto, and with PEER_UNAVAILABLE. */
export interface Inference {
  /** A model, the default one where none is named, and how many tokens its context has; undefined: nobody knows. */
  findModel(
    call: PeerCall,
    model: ModelRef | undefined,
  ): Promise<{ readonly model: ModelRef; readonly contextLength: number | undefined }>
  /** `blobs` holds the content of every medium in the request, by hash. Each item is what came at once. */
  generate(
    call: PeerCall,
    request: GenerationRequest,
    blobs: ReadonlyMap<string, Uint8Array>,
  ): AsyncIterable<readonly GenerationEvent[]>
}
