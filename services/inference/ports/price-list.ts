import type { Pricing } from '#gen/portico/inference/v1/inference_pb.js'

/** The list's data about a model. */
export interface ListedModel {
  /** Undefined: it has no price. */
  readonly pricing: Pricing | undefined
  /** Maximum number of input and output tokens together; undefined: unknown. */
  readonly contextLength: number | undefined
}

/** Prices of models that the operator does not price. */
export interface PriceList {
  /** Today's prices of a provider's model; undefined: it is not listed. Never rejects. */
  find(providerId: string, modelId: string): Promise<ListedModel | undefined>
}
