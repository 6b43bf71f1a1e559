import type { Pricing } from './cost.ts'
import type { Setting } from './left-out.ts'

/** What its provider does with what an endpoint is sent, as the operator says it. */
export interface DataPolicy {
  /** Whether it may keep what it is sent, and learn from it. */
  readonly collects: boolean
  /** Whether it retains nothing at all. */
  readonly retainsNothing: boolean
  /** Whether other models may be trained on what it says. */
  readonly distillable: boolean
  /** Precision of the model's numbers (`fp8`); `unknown`. */
  readonly quantization: string
}

/** Where nobody says anything. */
export const UNKNOWN_POLICY: DataPolicy = {
  collects: true,
  retainsNothing: false,
  distillable: false,
  quantization: 'unknown',
}

/** Where a model is served, and at what price. */
export interface Endpoint {
  readonly providerId: string
  /** Model as the provider names it. */
  readonly modelId: string
  /** Undefined: unknown. */
  readonly pricing: Pricing | undefined
  /** Most tokens of input and output together; undefined: unknown. */
  readonly contextLength?: number | undefined
  /** Most tokens of output; undefined: unknown. */
  readonly outputLimit?: number | undefined
  /** Undefined: unknown. */
  readonly policy?: DataPolicy | undefined
  /** Settings that its provider has no member for. */
  readonly without?: readonly Setting[] | undefined
}
