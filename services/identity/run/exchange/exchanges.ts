import type { Conditions } from '#services/identity/ports/conditions.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeSteps } from './exchange-steps.ts'

/** The parts that exchange tokens. */
export interface Exchanges {
  readonly issuerKeys: IssuerKeys
  readonly conditions: Conditions
  readonly exchange: Exchange
  readonly steps: ExchangeSteps
}
