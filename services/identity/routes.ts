import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { IdentityStore } from './ports/identity-store.ts'
import type { IssuerKeys } from './ports/issuer-keys.ts'
import type { Ports } from './ports/stores.ts'
import { reasons } from './reasons.ts'
import { authenticate } from './rpc/authenticate.ts'
import { checkApiKey } from './rpc/check-api-key.ts'
import { createApiKey } from './rpc/create-api-key.ts'
import { countExchanges } from './rpc/federation/count-exchanges.ts'
import { exchangeToken } from './rpc/federation/exchange-token.ts'
import { listApiKeys } from './rpc/list-api-keys.ts'
import { listSigningKeys } from './rpc/signing-key/list-signing-keys.ts'
import { rotateSigningKey } from './rpc/signing-key/rotate-signing-key.ts'
import { updateApiKey } from './rpc/update-api-key.ts'
import type { AccessTokens } from './run/access-token/access-tokens.ts'
import type { KeyRing } from './run/access-token/key-ring.ts'
import type { Exchange } from './run/exchange/exchange.ts'

/** What the handlers need. */
export interface HandlerDependencies extends Omit<Ports, 'identity'> {
  readonly store: IdentityStore
  readonly issuerKeys: IssuerKeys
  readonly ring: KeyRing
  readonly tokens: AccessTokens
  readonly exchange: Exchange
  readonly clock: Clock
  /** Where the local operator acts. */
  readonly bootstrap: { readonly organizationId: string; readonly workspaceId: string }
}

/** The routes of the identity service. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const implementation = {
    authenticate: authenticate(dependencies),
    checkApiKey: checkApiKey(dependencies),
    createApiKey: createApiKey(dependencies),
    listApiKeys: listApiKeys(dependencies),
    updateApiKey: updateApiKey(dependencies),
  }
  const federation = {
    exchangeToken: exchangeToken(dependencies),
    listSigningKeys: listSigningKeys(dependencies),
    rotateSigningKey: rotateSigningKey(dependencies),
    countExchanges: countExchanges(dependencies),
  }
  return {
    domain: 'identity',
    reasons,
    services: [route(IdentityService, implementation), route(FederationService, federation)],
  }
}
