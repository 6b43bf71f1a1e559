import type { Clock } from '#shared/clock.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { tracedPort } from '#shared/telemetry/traced-port.ts'
import { CelConditions } from './adapters/cel/cel-conditions.ts'
import { warmUp } from './adapters/cel/warm-up.ts'
import { FetchedIssuerKeys } from './adapters/issuer-keys/fetched-issuer-keys.ts'
import type { Config } from './config.ts'
import type { Ports } from './ports/stores.ts'
import type { TokenSignatures } from './ports/token-signatures.ts'
import type { AccessTokens } from './run/access-token/access-tokens.ts'
import { Exchange } from './run/exchange/exchange.ts'
import { ExchangeSteps } from './run/exchange/exchange-steps.ts'
import type { Exchanges } from './run/exchange/exchanges.ts'
import { RefusalLog } from './run/exchange/refusal-log.ts'

/** What exchanges need. */
export interface ExchangesOptions {
  readonly config: Config
  readonly stores: Omit<Ports, 'identity'>
  readonly signatures: TokenSignatures
  readonly tokens: AccessTokens
  /** The gateway's origin, as access tokens name it. */
  readonly issuer: string
  readonly clock: Clock
  readonly logger: Logger
}

/** Opens the part that exchanges tokens; it ends with the resources. */
export function openExchanges(options: ExchangesOptions, resources: AsyncDisposableStack): Exchanges {
  const { config, stores, signatures, tokens, issuer, clock, logger } = options
  const { federation, auditLog: audit, issuerHealth: health } = stores
  const keySettings = { networks: config.federationNetworks, ownOrigin: issuer }
  const fetchedKeys = new FetchedIssuerKeys({ ...keySettings, health, clock, logger })
  const issuerKeys = tracedPort(resources.use(fetchedKeys), 'IssuerKeys')
  const conditions = new CelConditions()
  warmUp(conditions)
  const steps = new ExchangeSteps({ keys: issuerKeys, signatures, conditions, ownIssuer: issuer })
  const refusals = resources.use(new RefusalLog({ audit, clock, logger }))
  const exchange = new Exchange({ federation, steps, tokens, audit, refusals, clock })
  return { issuerKeys, conditions, steps, exchange }
}
