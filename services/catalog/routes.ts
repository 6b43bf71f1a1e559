import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { reasons } from './reasons.ts'
import { agentHandlers } from './rpc/agents.ts'
import type { CatalogDependencies } from './rpc/dependencies.ts'
import { locationHandlers } from './rpc/locations.ts'
import { pluginHandlers } from './rpc/plugins.ts'
import { toolHandlers } from './rpc/tools.ts'

/** The routes of the catalog service. */
export function createRoutes(dependencies: CatalogDependencies): Routes {
  const handlers = {
    ...locationHandlers(dependencies),
    ...agentHandlers(dependencies),
    ...pluginHandlers(dependencies),
    ...toolHandlers(dependencies),
  }
  return { domain: 'catalog', reasons, services: [route(CatalogService, handlers)] }
}
