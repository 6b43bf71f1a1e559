import type { Pricing } from '../domain/cost.ts'

/** What a list says of a model. */
export interface ListedModel {
  /** Undefined: it has no price for it. */
  readonly pricing: Pricing | undefined
  /** Most tokens of input and output together; undefined: it does not say. */
  readonly contextLength: number | undefined
}

/** What models cost where the operator does not say it. */
export interface PriceList {
  /** Today's prices of a provider's model; undefined: it is not listed. Never rejects. */
  find(providerId: string, modelId: string): Promise<ListedModel | undefined>
}
