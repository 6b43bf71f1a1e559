import type { Pricing } from './cost.ts'
import type { Setting } from './left-out.ts'

/** What an endpoint's provider does with data that it is sent, according to the operator. */
export interface DataPolicy {
  /** Whether it may store the data and train on it. */
  readonly collects: boolean
  /** Whether it retains nothing at all. */
  readonly retainsNothing: boolean
  /** Whether other models may be trained on its output. */
  readonly distillable: boolean
  /** Precision of the model's weights (`fp8`); `unknown`. */
  readonly quantization: string
}

/** The policy if the operator states none. */
export const UNKNOWN_POLICY: DataPolicy = {
  collects: true,
  retainsNothing: false,
  distillable: false,
  quantization: 'unknown',
}

/** A provider that serves a model, with its price. */
export interface Endpoint {
  readonly providerId: string
  /** The provider's name for the model. */
  readonly modelId: string
  /** Undefined: unknown. */
  readonly pricing: Pricing | undefined
  /** Maximum number of input and output tokens together; undefined: unknown. */
  readonly contextLength?: number | undefined
  /** Maximum number of output tokens; undefined: unknown. */
  readonly outputLimit?: number | undefined
  /** Undefined: unknown. */
  readonly policy?: DataPolicy | undefined
  /** Settings for which its provider has no member. */
  readonly without?: readonly Setting[] | undefined
}
