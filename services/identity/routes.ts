import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { lazyHandlers } from '#shared/lazy/lazy-handlers.ts'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { reasons } from './reasons.ts'
import { authenticate } from './rpc/authenticate.ts'
import { checkApiKey } from './rpc/check-api-key.ts'
import { createApiKey } from './rpc/create-api-key.ts'
import { deleteApiKey } from './rpc/delete-api-key.ts'
import type { FederationDependencies } from './rpc/federation-service.ts'
import { getApiKey } from './rpc/get-api-key.ts'
import { listApiKeys } from './rpc/list-api-keys.ts'
import { setWorkspaceLimit } from './rpc/set-workspace-limit.ts'
import { updateApiKey } from './rpc/update-api-key.ts'
import type { Exchanges } from './run/exchange/exchanges.ts'

const federation = lazyModule(() => import('./rpc/federation-service.ts'))

/** What the handlers need. */
export interface HandlerDependencies extends FederationDependencies {
  openExchanges(): Promise<Exchanges>
}

/** The routes of the identity service. Those of federation are opened by the first call of one of them. */
export function createRoutes(dependencies: HandlerDependencies): Routes {
  const implementation = {
    authenticate: authenticate(dependencies),
    checkApiKey: checkApiKey(dependencies),
    createApiKey: createApiKey(dependencies),
    getApiKey: getApiKey(dependencies),
    listApiKeys: listApiKeys(dependencies),
    updateApiKey: updateApiKey(dependencies),
    deleteApiKey: deleteApiKey(dependencies),
    setWorkspaceLimit: setWorkspaceLimit(dependencies),
  }
  const lazily = lazyHandlers(FederationService, async () => {
    const { federationService } = await federation()
    return federationService({ ...dependencies, ...(await dependencies.openExchanges()) })
  })
  return {
    domain: 'identity',
    reasons,
    services: [route(IdentityService, implementation), route(FederationService, lazily)],
  }
}
