import type { GenerationRequest, Usage } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { Billed, ReportedCost } from './cost.ts'

export interface ProviderRequest extends GenerationRequest {
  /** The provider's name for the model. */
  readonly modelId: string
  /** What the provider learns about the session; undefined: nothing. */
  readonly providerSession?: string
}

/** What a generation used, as the provider reported it; a reported zero is a zero. */
export interface ReportedUsage {
  readonly usage: Usage
  readonly cost?: ReportedCost
  readonly billed?: Billed
}

/**
 * An event of an answer as its provider reports it. `usage` may come at any time, and repeatedly; the last one counts.
 * `withheld` is the size in bytes of output that the provider has generated and nobody gets, since it is charged for;
 * all of them count. Neither leaves the service: the meter takes them out, and adds usage and cost to the last event.
 */
export type ProviderEvent =
  | GenerationEvent
  | { readonly event: { readonly case: 'usage'; readonly value: ReportedUsage } }
  | { readonly event: { readonly case: 'withheld'; readonly value: number } }
