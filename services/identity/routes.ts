import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import type { SharedIssuers } from './domain/shared-issuer.ts'
import type { Conditions } from './ports/conditions.ts'
import type { IdentityStore } from './ports/identity-store.ts'
import type { IssuerKeys } from './ports/issuer-keys.ts'
import type { Ports } from './ports/stores.ts'
import { reasons } from './reasons.ts'
import { apiKeys } from './rpc/api-keys.ts'
import { auditEntries } from './rpc/audit.ts'
import { authentication } from './rpc/authenticate.ts'
import { exchanges } from './rpc/exchanges.ts'
import { issuers } from './rpc/issuers.ts'
import { organizations } from './rpc/organizations.ts'
import { policies } from './rpc/policies.ts'
import { rehearsals } from './rpc/rehearsals.ts'
import { signingKeys } from './rpc/signing-keys.ts'
import type { AccessTokens } from './run/access-token/access-tokens.ts'
import type { KeyRing } from './run/access-token/key-ring.ts'
import type { Exchange } from './run/exchange/exchange.ts'
import type { ExchangeSteps } from './run/exchange/exchange-steps.ts'

export interface HandlerDependencies extends Omit<Ports, 'identity'> {
  readonly store: IdentityStore
  readonly issuerKeys: IssuerKeys
  readonly conditions: Conditions
  readonly exchange: Exchange
  readonly steps: ExchangeSteps
  readonly sharedIssuers: SharedIssuers
  readonly ring: KeyRing
  readonly tokens: AccessTokens
  readonly clock: Clock
  /** Where the local operator acts. */
  readonly bootstrap: { readonly organizationId: string; readonly workspaceId: string }
}

export function createRoutes(dependencies: HandlerDependencies): Routes {
  const identity = route(IdentityService, { ...authentication(dependencies), ...apiKeys(dependencies) })
  const federation = route(FederationService, {
    ...exchanges(dependencies),
    ...issuers(dependencies),
    ...policies(dependencies),
    ...rehearsals(dependencies),
    ...auditEntries(dependencies),
    ...organizations(dependencies),
    ...signingKeys(dependencies),
  })
  return { domain: 'identity', reasons, services: [identity, federation] }
}
