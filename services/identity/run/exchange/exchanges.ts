import type { Conditions } from '#services/identity/ports/conditions.ts'
import type { IssuerKeys } from '#services/identity/ports/issuer-keys.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeSteps } from './exchange-steps.ts'

/** What judges the tokens of others. */
export interface Exchanges {
  readonly issuerKeys: IssuerKeys
  readonly conditions: Conditions
  readonly exchange: Exchange
  readonly steps: ExchangeSteps
}
