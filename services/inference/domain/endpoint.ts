import type { Model } from '#gen/portico/inference/v1/inference_pb.js'
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
export interface Endpoint extends Pick<Model, 'providerId' | 'modelId' | 'pricing' | 'contextLength' | 'outputLimit'> {
  /** Undefined: unknown. */
  readonly policy?: DataPolicy | undefined
  /** Settings for which its provider has no member. */
  readonly without?: readonly Setting[] | undefined
}
