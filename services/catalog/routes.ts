import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { lazyHandlers } from '#shared/lazy/lazy-handlers.ts'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import { type Routes, route } from '#shared/rpc/routes.ts'
import { reasons } from './reasons.ts'
import type { CatalogDependencies } from './rpc/catalog-service.ts'

const handlers = lazyModule(() => import('./rpc/catalog-service.ts'))

/** What the handlers need. */
export interface HandlerDependencies {
  openDirectories(): Promise<CatalogDependencies>
}

/** The routes of the catalog service, which are opened by the first call of any of them. */
export function createRoutes({ openDirectories }: HandlerDependencies): Routes {
  const lazily = lazyHandlers(CatalogService, async () => {
    const { catalogService } = await handlers()
    return catalogService(await openDirectories())
  })
  return { domain: 'catalog', reasons, services: [route(CatalogService, lazily)] }
}
